"""The patch inventory as one self-contained page: searchable and sortable without a server, readable without a
script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from layline.core.evidence import Evidence

_COLUMNS = ("Patch", "What it does", "Patch logic (upstream symbol replaced/wrapped)", "Code location", "How to enable")
_STYLE = """
:root{color-scheme:light dark;--line:#8884;--dim:#777}
body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;padding:1.5rem;max-width:110rem}
h1{font-family:ui-serif,Georgia,serif;font-weight:600;margin:.2em 0}
p.meta,caption{color:var(--dim);text-align:left}
label{display:block;margin:1rem 0}input{font:inherit;padding:.35em .6em;width:min(40rem,100%);box-sizing:border-box}
.wrap{overflow-x:auto}table{border-collapse:collapse;width:100%;margin:.5rem 0 2rem}
th,td{border-bottom:1px solid var(--line);padding:.45em .6em;text-align:left;vertical-align:top;overflow-wrap:anywhere}
th button{all:unset;cursor:pointer;font-weight:600}th button:focus-visible{outline:2px solid}
th[aria-sort=ascending] button::after{content:" \\2191"}th[aria-sort=descending] button::after{content:" \\2193"}
code{font-family:ui-monospace,monospace;font-size:.9em}tr.off{opacity:.6}ul{margin:0;padding-left:1.1em}
@media print{label{display:none}}
"""
_SCRIPT = """
const box=document.querySelector('#search'),rows=[...document.querySelectorAll('tbody tr')],count=document.querySelector('#count');
function filter(){const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);let shown=0;
for(const row of rows){const text=row.textContent.toLowerCase();const hit=words.every(w=>text.includes(w));row.hidden=!hit;shown+=hit;}
count.textContent=shown+' of '+rows.length+' rows';}
document.querySelector('label').hidden=false;box.addEventListener('input',filter);filter();
for(const head of document.querySelectorAll('th')){const button=head.querySelector('button');if(!button)continue;
button.addEventListener('click',()=>{const table=head.closest('table'),body=table.tBodies[0],index=[...head.parentNode.children].indexOf(head);
const down=head.getAttribute('aria-sort')==='ascending';
for(const other of head.parentNode.children)other.removeAttribute('aria-sort');
head.setAttribute('aria-sort',down?'descending':'ascending');
[...body.rows].sort((a,b)=>a.cells[index].textContent.localeCompare(b.cells[index].textContent,undefined,{numeric:true})*(down?-1:1)).forEach(r=>body.append(r));});}
"""


def render_inventory_page(inventories: Sequence[Mapping[str, Any]], repository: str, project: str) -> str:
    """The page for inventories as `patches list --format json` gives them."""
    body = "".join(render_inventory_section(inventory, repository) for inventory in inventories)
    title = escape(f"{project}: patches")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><main><h1>{title}</h1>"
        '<label hidden>Search <input id="search" type="search" autocomplete="off"> <span id="count" '
        'role="status"></span></label>'
        f"{body}</main><script>{_SCRIPT}</script></body></html>\n"
    )


def render_inventory_section(inventory: Mapping[str, Any], repository: str) -> str:
    """One backend: a heading, its table of patches and its table of unregistered effects, all text escaped."""
    heads = "".join(f'<th scope="col"><button type="button">{escape(name)}</button></th>' for name in _COLUMNS)
    rows = "".join(_render_row(patch, inventory, repository) for patch in inventory["patches"])
    meta = f"downstream {inventory['commit'][:12]}" + (f", pin {inventory['pin'][:12]}" if inventory.get("pin") else "")
    return (
        f'<section id="{escape(inventory["backend"])}"><h2>{escape(inventory["backend"])}</h2><p '
        f'class="meta">{escape(meta)}</p>'
        f'<div class="wrap"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        f"{_render_unregistered(inventory, repository)}{_render_switch(inventory)}</section>"
    )


def _render_row(patch: Mapping[str, Any], inventory: Mapping[str, Any], repository: str) -> str:
    place = _link(patch["file"], patch["line"], inventory["commit"], repository)
    guard = patch["guard"]["expression"]
    enable = (
        f"{guard}; phase {patch['phase'] or 'any'}, priority "
        f"{patch['priority'] if patch['priority'] is not None else 'default'}"
    )
    if not patch["active"]:
        enable = f"Never active: {patch['active_reason']}. {enable}"
    return (
        f"<tr{'' if patch['active'] else ' class=off'}><td><code>{escape(patch['id'])}</code></td>"
        f"<td>{escape(patch['description'])}</td><td>{_render_effects(patch['effects'])}</td><td>{place}</td>"
        f"<td>{escape(enable)}</td></tr>"
    )


def _render_effects(effects: Sequence[Mapping[str, Any]]) -> str:
    items: list[str] = []
    for effect in effects:
        what = effect["target"] or f"N/A: {', '.join(effect['mutates']) or effect['reason'] or 'lifecycle hook'}"
        words = [effect["style"]]
        words += [effect["moment"]] if effect["moment"] != "install" else []
        words += ["absent at the pin"] if effect["target_kind"] == "absent" else []
        words += [f"uncertain: {effect['reason']}"] if not effect["certain"] else []
        items.append(f"<li><code>{escape(what)}</code> ({escape(', '.join(words))})</li>")
    return f"<ul>{''.join(items)}</ul>" if items else "N/A (lifecycle hook)"


def _render_unregistered(inventory: Mapping[str, Any], repository: str) -> str:
    if not inventory["unregistered"]:
        return ""
    heads = "".join(
        f'<th scope="col"><button type="button">{name}</button></th>'
        for name in ("Inside", "Effect", "Replacement", "Code location")
    )
    rows = "".join(
        f"<tr><td><code>{escape(item['within'])}</code></td><td>{_render_effects([item])}</td><td>"
        f"<code>{escape(item['replacement'] or '')}</code></td>"
        f"<td>{_link(*_split(item['location']), inventory['commit'], repository)}</td></tr>"
        for item in inventory["unregistered"]
    )
    return (
        "<h3>Outside any registration</h3><div "
        f'class="wrap"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _split(location: str) -> tuple[str, str]:
    path, _, line = location.rpartition(":")
    return path, line


def _render_switch(inventory: Mapping[str, Any]) -> str:
    engine = inventory["engine"]
    if not engine["switch"]:
        return ""
    text = (
        f"{engine['switch']} = {engine['switch_values']} selects patches by id; each patch's own condition must hold as well "
        f"({engine['location']})."
    )
    return f'<p class="meta">{escape(text)}</p>'


def _link(path: str, line: int | str, commit: str, repository: str) -> str:
    shown = f"<code>{escape(f'{path}:{line}')}</code>"
    address = Evidence(repo=repository, commit=commit, path=path, lines=(int(line), int(line))).permalink
    return f'<a href="{escape(address)}" rel="noopener">{shown}</a>' if address else shown

"""Registrations: what counts as one, which are active, who wins."""

from __future__ import annotations

from pathlib import Path

from snippets import HEAD, handler, only, read_files, read_snippet


def test_everything_a_registration_says_is_read(tmp_path: Path) -> None:
    arguments = 'patch_id=ID, backend="up", phase="setup", priority=-5, tags=["a"], backend_versions=["<2"]'
    patch = only(read_snippet(tmp_path, handler('"""Docstring."""', arguments=arguments, before='ID = "x." + "y"')))
    assert (patch.id, patch.phase, patch.priority, patch.tags) == ("x.y", "setup", -5, ("a",))
    assert [str(one) for one in patch.version_patterns] == ["backend_versions: <2"]
    assert patch.description == "Docstring."
    assert patch.file == "own/patches/case_patches.py"
    assert patch.active


def test_engine_tells_phases_and_switch(tmp_path: Path) -> None:
    engine = read_snippet(tmp_path, handler("pass")).engine
    assert engine.phases == ("setup", "before_train", "convert")
    assert engine.switch == "OWN_PATCHES"
    assert engine.switch_text == "all | none | id1,id2"


def test_commented_and_quoted_registrations_do_not_count(tmp_path: Path) -> None:
    source = f'{HEAD}\n# @register_patch("no")\ndef f(ctx):\n    """@register_patch("no")"""\n'
    assert read_snippet(tmp_path, source).patches == ()


def test_a_module_nobody_imports_is_never_active(tmp_path: Path) -> None:
    inventory = read_snippet(tmp_path, handler("pass"), name="forgotten")
    patch = only(inventory)
    assert not patch.active
    assert "names ending in _patches" in patch.active_reason


def test_the_later_registration_of_an_id_wins(tmp_path: Path) -> None:
    files = {"own/patches/a_patches.py": handler("pass"), "own/patches/b_patches.py": handler("pass")}
    first, second = read_files(tmp_path, files).patches
    assert (first.active, second.active) == (False, True)
    assert "own/patches/b_patches.py" in first.active_reason


def test_registrations_in_a_loop_are_several(tmp_path: Path) -> None:
    source = (
        f'{HEAD}\nfor name in ("a", "b"):\n    @register_patch(f"loop.{{name}}", phase="setup")\n    def '
        "install(ctx):\n        pass\n"
    )
    assert [patch.id for patch in read_snippet(tmp_path, source).patches] == ["loop.a", "loop.b"]


def test_helpers_in_other_files_are_followed(tmp_path: Path) -> None:
    more = {"own/tools.py": "def put(module, name, new):\n    setattr(module, name, new)\n"}
    body = "import up.a as m\nfrom own.tools import put\nput(m, 'f', print)"
    (effect,) = only(read_snippet(tmp_path, handler(body), more)).effects
    assert effect.target == "up.a.f"
    assert str(effect.location) == "own/tools.py:2"


def test_a_stash_of_another_patch_is_seen_through(tmp_path: Path) -> None:
    first = handler("import up.a as m\nm._own_original_f = m.f\nm.f = print", arguments='"a"')
    second = handler("import up.a as m\nm._own_original_f = len", arguments='"b"')
    patches = read_files(tmp_path, {"own/patches/b_patches.py": first, "own/patches/a_patches.py": second}).patches
    assert {effect.target for patch in patches for effect in patch.effects} == {"up.a.f"}


def test_undecidable_rows_stay_with_their_reason(tmp_path: Path) -> None:
    body = "import up.a as m\nfor name in ctx.names:\n    setattr(m, name, print)"
    (effect,) = only(read_snippet(tmp_path, handler(body))).effects
    assert not effect.certain
    assert effect.target is None
    assert "up.a" in (effect.reason or "")


def test_an_original_read_under_another_name_outside_is_still_wrapped(tmp_path: Path) -> None:
    """`new = partial(ours, old=lib.f); lib.f = lib.sub.f = new`: both names mean one function of a package not
    indexed."""
    from layline.core.patch import TargetKind
    from layline.patches.installer import Known
    from layline.patches.inventory.read import read_inventory
    from snippets import open_reading

    body = "import lib, lib.sub\nold = lib.f\ndef g(x): return old(x)\nlib.f = g\nlib.sub.f = g"
    reading = open_reading(tmp_path, {"own/patches/case_patches.py": handler(body)})
    patch = only(read_inventory(reading, "up", lambda _: Known(TargetKind.EXTERNAL)))
    assert [effect.style.value for effect in patch.effects] == ["function-wrapping", "function-wrapping"]


LATE = """
from own.engine.core import register_patch

def register_all():
    @register_patch("late", phase="setup")
    def install(ctx):
        import up.a as m
        m.f = print

    def never():
        @register_patch("lost")
        def install(ctx):
            pass
"""


def test_a_registration_inside_a_function_happens_when_something_calls_it(tmp_path: Path) -> None:
    inventory = read_snippet(tmp_path, LATE)
    patch = only(inventory)
    assert (patch.id, patch.active) == ("late", False)
    assert patch.active_reason == "never registered: nothing calls own.patches.case_patches.register_all"
    assert [effect.target for effect in patch.effects] == ["up.a.f"]
    start = {"own/start.py": "from own.patches.case_patches import register_all\n\nregister_all()\n"}
    called = only(read_snippet(tmp_path, LATE, start))
    assert (called.active, called.active_reason) == (
        True,
        "registered when own.patches.case_patches.register_all is called, from own/start.py:3",
    )


def test_a_registration_that_reading_does_not_reach_is_said(tmp_path: Path) -> None:
    (skipped,) = read_snippet(tmp_path, LATE).skipped
    assert skipped.what == "lost (own/patches/case_patches.py:11)"
    assert "in a function that nothing calls" in skipped.why


def test_a_registration_without_a_backend_of_ours_is_said(tmp_path: Path) -> None:
    from layline.config import Backend, Project, Settings
    from layline.patches.inventory.read import read_downstream, read_inventory
    from snippets import open_reading

    reading = open_reading(tmp_path, {"own/patches/a_patches.py": handler("pass", arguments='"x", backend="other"')})
    backends = {"one": Backend(path="a", packages=("up",)), "two": Backend(path="b", packages=("two",))}
    again = read_downstream(reading.tree, Settings(project=Project(name="own"), backends=backends))
    (skipped,) = read_inventory(again, "one").skipped
    assert skipped.why == "it names the backend 'other' and is not in a folder of a configured backend"


def test_a_handler_that_marks_its_module_is_read_as_if_for_the_first_time(tmp_path: Path) -> None:
    body = "global _DONE\nif _DONE:\n    return\nimport up.a as m\nm.f = print\n_DONE = True"
    patch = only(read_snippet(tmp_path, handler(body, before="_DONE = False")))
    assert [effect.target for effect in patch.effects] == ["up.a.f"]

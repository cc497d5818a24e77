// Everything works without this file; it adds filters, sorting, a theme switch and ages.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.replace("no-js", "js");
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
  const store = { // a page opened from file:// may have no storage
    read(key) { try { return localStorage.getItem(key); } catch { return null; } },
    write(key, value) { try { value ? localStorage.setItem(key, value) : localStorage.removeItem(key); } catch { /* none */ } },
  };

  const themes = ["", "light", "dark"];
  const setTheme = (theme) => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    all("[data-theme-toggle]").forEach((button) => button.setAttribute("aria-label", `Colour theme: ${theme || "automatic"}`));
  };
  setTheme(themes.includes(store.read("layline-theme")) ? store.read("layline-theme") : "");
  all("[data-theme-toggle]").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", () => {
      const next = themes[(themes.indexOf(root.dataset.theme || "") + 1) % themes.length];
      store.write("layline-theme", next);
      setTheme(next);
    });
  });

  all("[data-age]").forEach((time) => { // the page itself never reads a clock; its reader's browser may
    const days = Math.floor((Date.now() - Date.parse(`${time.dateTime}T00:00:00Z`)) / 86400000);
    if (days > 31) time.insertAdjacentText("afterend", ` (${days} days ago)`);
  });

  all("[data-future]").forEach((time) => {
    if (Date.parse(`${time.dateTime}T00:00:00Z`) > Date.now() + 86400000) time.insertAdjacentText("afterend", " (in the future)");
  });

  const copyText = (text) => navigator.clipboard ? navigator.clipboard.writeText(text) : new Promise((done, failed) => { // file:// has no clipboard
    const area = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy") ? done() : failed();
    area.remove();
  });
  all("pre, .how p > code").forEach((code) => {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "copy", textContent: "Copy" });
    const text = code.textContent;
    button.addEventListener("click", () => copyText(text.trim()).then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Select it by hand"; }));
    code.tagName === "PRE" ? code.prepend(button) : code.after(button);
  });

  all("[data-probe]").forEach((link) => {
    if (location.protocol === "file:") return;
    fetch(link.href, { method: "HEAD" }).then((answer) => { link.hidden = !answer.ok; }, () => {});
  });

  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const startList = (list) => {
    const form = list.querySelector("[data-filters]");
    if (!form) return;
    const items = all("[data-item]", list);
    const fields = Array.from(form.elements).filter((field) => field.name);
    const matches = (item) => fields.every((field) => {
      if (!field.value) return true;
      if (field.name === "q") { const text = ((item.dataset.text || "") + (item.matches("tr") ? " " + item.textContent : "")).toLowerCase(); return words(field.value).every((word) => text.includes(word)); }
      return (item.dataset[field.name] || "").split("|").includes(field.value);
    });
    const apply = (push) => {
      const active = fields.some((field) => field.value);
      let shown = 0;
      for (const item of items) { item.hidden = !matches(item); shown += item.hidden ? 0 : 1; }
      for (const group of all("[data-group]", list)) {
        const any = all("[data-item]", group).some((item) => !item.hidden);
        group.hidden = !any;
        if (active) group.open = any;
      }
      const count = list.querySelector("[data-count]");
      if (count) count.value = active ? `${shown} of ${items.length}` : "";
      const empty = list.querySelector("[data-empty]");
      if (empty) empty.hidden = shown > 0;
      if (push) remember();
    };
    const remember = () => {
      const query = new URLSearchParams(location.search);
      for (const field of fields) field.value ? query.set(field.name, field.value) : query.delete(field.name);
      const text = query.toString();
      try { history.replaceState(null, "", `${location.pathname}${text ? `?${text}` : ""}${location.hash}`); } catch { /* file:// */ }
    };
    const recall = () => {
      const query = new URLSearchParams(location.search);
      for (const field of fields) {
        const value = query.get(field.name) || "";
        field.value = field.tagName === "SELECT" && !Array.from(field.options).some((option) => option.value === value) ? "" : value;
      }
    };
    form.hidden = false;
    form.addEventListener("input", () => apply(true));
    form.addEventListener("submit", (event) => event.preventDefault());
    all("[data-clear]", list).forEach((button) => button.addEventListener("click", () => { fields.forEach((field) => { field.value = ""; }); apply(true); fields[0].focus(); }));
    recall();
    apply(false);
  };
  all("[data-list]").forEach(startList);

  const startSort = (table) => {
    all("th[data-sort]", table).forEach((head) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        all("th[data-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const column = Array.from(head.parentNode.children).indexOf(head);
        const value = (row) => { const cell = row.children[column]; return cell ? cell.dataset.value || cell.textContent.trim() : ""; };
        const numeric = head.dataset.sort === "number";
        const sorted = all("tbody > tr", table).map((row, index) => ({ row, index, key: value(row) }));
        sorted.sort((a, b) => (numeric ? (parseFloat(a.key) || 0) - (parseFloat(b.key) || 0) : a.key.localeCompare(b.key)) * (up ? 1 : -1) || a.index - b.index);
        table.tBodies[0].append(...sorted.map((entry) => entry.row));
      });
    });
  };
  all("table[data-sortable]").forEach(startSort);

  const openTarget = () => { // a deep link into a folded part opens it
    let name = location.hash.slice(1);
    try { name = decodeURIComponent(name); } catch { /* `#100%` is a name as it stands */ }
    const target = name ? document.getElementById(name) : null;
    if (!target) return;
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    const fold = target.querySelector(":scope details");
    if (fold) fold.open = true;
    if (target.hidden) target.hidden = false;
    target.scrollIntoView();
  };
  addEventListener("hashchange", openTarget);
  openTarget();

  let folded = [];
  addEventListener("beforeprint", () => { folded = all("details:not([open]):not(.how)"); folded.forEach((part) => { part.open = true; }); });
  addEventListener("afterprint", () => folded.forEach((part) => { part.open = false; }));
})();

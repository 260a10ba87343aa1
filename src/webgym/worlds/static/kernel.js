// What pages do in the browser: suggestions, menus, tabs, dialogs, endless lists, calendars, maps. Links and forms work
// without it. No timers but for waiting until typing stops; nothing depends on the clock.
'use strict';
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (tag, text, more = {}) => Object.assign(document.createElement(tag), { textContent: text }, more);

for (const field of all('[data-suggest]')) {
  let box = null, wait = 0, asked = 0;
  const close = () => { box?.remove(); box = null; };
  field.addEventListener('input', () => {
    clearTimeout(wait);
    const text = field.value.trim(), mine = ++asked;
    if (text.length < 2) return close();
    wait = setTimeout(async () => {
      const answer = await fetch('/_/suggest?q=' + encodeURIComponent(text));
      const found = answer.ok ? await answer.json() : [];
      if (mine !== asked) return;
      close();
      if (!found.length) return;
      box = make('div', '', { className: 'suggest' });
      for (const one of found) box.append(make('a', one.title, { href: one.href }));
      field.form.append(box);
    }, 120);
  });
  field.addEventListener('keydown', (event) => { if (event.key === 'Escape') close(); });
  document.addEventListener('click', (event) => { if (!field.form.contains(event.target)) close(); });
}

for (const button of all('[data-menu]')) {
  button.addEventListener('click', () => {
    const open = document.querySelector('.menu').classList.toggle('open');
    button.setAttribute('aria-expanded', String(open));
  });
}

const wide = matchMedia('(min-width: 761px)');
const unfold = () => { for (const one of all('[data-wide]')) one.open = wide.matches; };
wide.addEventListener('change', unfold);
unfold();

for (const field of all('[data-send]')) field.addEventListener('change', () => field.form.submit());
for (const slide of all('.slide')) {
  const input = slide.querySelector('input');
  input.addEventListener('input', () => { slide.querySelector('output').value = input.value; });
}

for (const group of all('[data-tabs]')) {
  const tabs = all('[role=tab]', group), panels = [...group.children].filter((one) => one.classList.contains('panel'));
  tabs.forEach((tab, n) => tab.addEventListener('click', () => {
    tabs.forEach((one, m) => one.setAttribute('aria-selected', String(n === m)));
    panels.forEach((one, m) => { one.hidden = n !== m; });
  }));
}

for (const place of all('[data-modal]')) {
  const dialog = place.querySelector('dialog');
  place.querySelector('[data-open]')?.addEventListener('click', () => dialog.showModal());
  if ('atOnce' in place.dataset) dialog.showModal();
}

for (const table of all('table[data-sortable]')) {
  const body = table.tBodies[0];
  const value = (row, n) => row.cells[n].textContent.trim();
  const number = (text) => { const bare = text.replace(/[^0-9.-]/g, ''); return bare && !isNaN(bare) ? +bare : NaN; };
  all('th button', table).forEach((button, n) => button.addEventListener('click', () => {
    const down = button.dataset.down = button.dataset.down === 'no' ? 'yes' : 'no';
    const order = (a, b) => {
      const [one, two] = [value(a, n), value(b, n)], [x, y] = [number(one), number(two)];
      return isNaN(x) || isNaN(y) ? one.localeCompare(two) : x - y;
    };
    body.append(...[...body.rows].sort((a, b) => (down === 'yes' ? -1 : 1) * order(a, b)));
  }));
}

for (const list of all('[data-endless]')) {
  const watch = new IntersectionObserver(async ([seen]) => {
    const next = document.querySelector('.pages [data-next]');
    if (!seen.isIntersecting || !next || list.dataset.busy) return;
    list.dataset.busy = 'yes';
    const answer = await fetch(next.href);
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    list.append(...page.querySelector('[data-endless]').children);
    document.querySelector('.pages').replaceWith(page.querySelector('.pages'));
    delete list.dataset.busy;
    watch.disconnect();
    watch.observe(document.querySelector('.pages'));
  }, { rootMargin: '80px' });
  const pages = document.querySelector('.pages');
  if (pages) watch.observe(pages);
}

for (const place of all('[data-date]')) {
  const input = place.querySelector('input');
  let box = null;
  const two = (n) => String(n).padStart(2, '0');
  const show = (year, month) => {
    box?.remove();
    box = make('div', '', { className: 'calendar' });
    const head = make('header', ''), days = make('div', '');
    const name = new Date(Date.UTC(year, month, 1)).toLocaleDateString('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });
    const step = (by, text) => make('button', text, { type: 'button', onclick: () => show(year + Math.floor((month + by) / 12), (month + by + 12) % 12) });
    head.append(step(-1, '‹'), make('b', name), step(1, '›'));
    const first = (new Date(Date.UTC(year, month, 1)).getUTCDay() + 6) % 7, count = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
    for (const day of 'MTWTFSS') days.append(make('b', day));
    for (let n = 0; n < first; n++) days.append(make('i', ''));
    for (let day = 1; day <= count; day++) {
      days.append(make('button', String(day), { type: 'button', onclick: () => { input.value = `${year}-${two(month + 1)}-${two(day)}`; box.remove(); box = null; } }));
    }
    box.append(head, days);
    place.append(box);
  };
  place.querySelector('button').addEventListener('click', () => {
    if (box) { box.remove(); box = null; return; }
    const at = /^(\d{4})-(\d\d)/.exec(input.value);
    // The calendar opens at a fixed month, so that a page looks the same whenever it is visited.
    show(at ? +at[1] : 2026, at ? +at[2] - 1 : 5);
  });
}

for (const place of all('[data-stepper]')) {
  const input = place.querySelector('input'), [least, most] = place.dataset.stepper.split(' ').map(Number);
  all('button', place).forEach((button, n) => button.addEventListener('click', () => {
    input.value = Math.min(most, Math.max(least, (parseInt(input.value, 10) || 0) + (n ? 1 : -1)));
  }));
}

for (const view of all('[data-map]')) {
  const ground = view.querySelector('.ground');
  let scale = 1, x = 0, y = 0;
  const apply = () => { ground.style.transform = `translate(${x}px, ${y}px) scale(${scale})`; };
  for (const button of all('[data-zoom]', view)) button.addEventListener('click', () => {
    scale = Math.min(6, Math.max(1, scale * +button.dataset.zoom));
    if (scale === 1) x = y = 0;
    apply();
  });
  let held = null;
  view.addEventListener('pointerdown', (event) => { if (event.target.closest('a, button')) return; held = [event.clientX - x, event.clientY - y]; event.preventDefault(); });
  addEventListener('pointermove', (event) => { if (held && scale > 1) { x = event.clientX - held[0]; y = event.clientY - held[1]; apply(); } });
  addEventListener('pointerup', () => { held = null; });
}

// Open lists. Chromium shows the options of a <select> in a window of its own, which is on no screenshot and holds up the
// drawing of the page. So that window never opens: the list is drawn in the page, where it is seen and can be clicked. The
// calendars of date fields stay closed for the same reason; such a field takes what is typed.

let list = null; // { field, host, shadow, rows, at }: the one that is open

const PICKERS = 'input:is([type=date], [type=month], [type=week], [type=time], [type=datetime-local], [type=color])';
const LIST_STYLE = ':host{all:initial!important;position:fixed!important;z-index:2147483646!important;overflow:auto!important;' +
  'box-sizing:border-box!important;background:#fff!important;color:#111!important;border:1px solid #767676!important;' +
  'margin:0!important;padding:0!important;box-shadow:0 2px 8px #0005!important;font-family:Arial,sans-serif!important}' +
  'div{padding:5px 10px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;cursor:default}' +
  '.inner{padding-left:22px}[role=group]{font-weight:bold}[aria-disabled=true]{color:#999}' +
  '[aria-selected=true]{background:#1967d2;color:#fff}';

const closeList = () => { list?.host.remove(); list = null; };

const tellChange = (field) => {
  const view = field.ownerDocument.defaultView;
  field.dispatchEvent(new view.Event('input', { bubbles: true, composed: true }));
  field.dispatchEvent(new view.Event('change', { bubbles: true }));
};

const choose = (row) => {
  const { field } = list;
  closeList();
  if (row?.option && field.selectedIndex !== row.option.index) {
    field.selectedIndex = row.option.index;
    tellChange(field);
  }
};

const highlight = (at) => {
  const row = list.rows[at];
  if (!row) return;
  list.rows[list.at]?.element.setAttribute('aria-selected', 'false');
  list.at = at;
  row.element.setAttribute('aria-selected', 'true');
  row.element.scrollIntoView({ block: 'nearest' });
};

const listRow = (document, label, option, inner) => {
  const element = document.createElementNS('http://www.w3.org/1999/xhtml', 'div');
  element.textContent = clip(label, 200) || '\u00a0';
  element.setAttribute('role', option ? 'option' : 'group');
  if (inner) element.className = 'inner';
  const off = option && (option.disabled || option.parentElement.disabled);
  if (off) element.setAttribute('aria-disabled', 'true');
  return { element, option: off ? null : option };
};

const openList = (field) => {
  closeList();
  const { ownerDocument: document } = field, view = document.defaultView, box = field.getBoundingClientRect();
  const host = document.createElementNS('http://www.w3.org/1999/xhtml', 'div');
  const shadow = host.attachShadow({ mode: 'closed' });
  const style = document.createElementNS('http://www.w3.org/1999/xhtml', 'style');
  style.textContent = LIST_STYLE;
  const shown = [];
  for (const child of field.children) {
    if (child.hidden) continue;
    const group = child.tagName === 'OPTGROUP';
    if (group) shown.push(listRow(document, child.label, null, false));
    for (const option of group ? child.children : [child]) {
      if (option.tagName === 'OPTION' && !option.hidden) shown.push(listRow(document, option.label, option, group));
    }
  }
  shadow.append(style, ...shown.map(({ element }) => element));
  const size = Math.max(13, Math.min(parseFloat(view.getComputedStyle(field).fontSize) || 13, 24));
  const wanted = shown.length * (1.15 * size + 10) + 4;
  const below = view.innerHeight - box.bottom, up = below < Math.min(wanted, 160) && box.top > below;
  const height = Math.min(wanted, Math.max(up ? box.top : below, 60), 480);
  const place = {
    left: `${Math.max(0, Math.min(box.left, view.innerWidth - box.width))}px`, 'max-height': `${height}px`,
    [up ? 'bottom' : 'top']: `${up ? view.innerHeight - box.top : box.bottom}px`,
    'min-width': `${box.width}px`, 'max-width': `${view.innerWidth}px`, 'font-size': `${size}px`,
  };
  for (const [name, value] of Object.entries(place)) host.style.setProperty(name, value, 'important');
  // A modal dialog lies above every z-index; only a popover lies above it.
  const modal = document.querySelector(':modal');
  if (modal) host.popover = 'manual';
  document.documentElement.append(host);
  if (modal) host.showPopover();
  shadow.addEventListener('click', (event) => {
    const row = list?.rows.find(({ element }) => element === event.target);
    if (row?.option) choose(row);
  });
  list = { field, host, shadow, rows: shown, at: -1 };
  highlight(shown.findIndex(({ option }) => option && option.index === field.selectedIndex));
};

const ownList = (field) => field?.tagName === 'SELECT' && !field.multiple && field.size <= 1 && !field.matches(':disabled') &&
  field.ownerDocument.defaultView.getComputedStyle(field).appearance !== 'base-select';

const fieldOf = (event) => {
  const element = event.composedPath()[0];
  return element.nodeType === 1 ? element.closest(`select, ${PICKERS}`) : null;
};

const pressed = (event) => {
  if (!event.isTrusted) return;
  if (list && event.composedPath().includes(list.host)) return event.preventDefault(); // the field keeps the focus
  const field = fieldOf(event), open = list?.field;
  closeList();
  if (event.button !== 0 || !ownList(field)) return;
  event.preventDefault();
  field.focus({ preventScroll: true });
  if (field !== open) openList(field);
};

const clicked = (event) => {
  if (event.isTrusted && fieldOf(event)?.matches(PICKERS)) event.preventDefault();
};

const MOVES = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e6, End: 1e6 };

const moved = (key) => {
  const open = list.rows.map((row, n) => (row.option ? n : -1)).filter((n) => n >= 0);
  if (key in MOVES) {
    const to = open.indexOf(list.at) + MOVES[key];
    return highlight(open[Math.max(0, Math.min(to, open.length - 1))]);
  }
  const starts = (n) => list.rows[n].option.label.trim().toLowerCase().startsWith(key.toLowerCase());
  const next = open.find((n) => n > list.at && starts(n)) ?? open.find(starts);
  if (next !== undefined) highlight(next);
};

const keyed = (event) => {
  if (!event.isTrusted) return;
  const field = fieldOf(event), { key } = event;
  const asks = key === 'F4' || (event.altKey && /^Arrow(Up|Down)$/.test(key));
  if (list && field === list.field) {
    if (key === 'Enter' || key === 'Tab') choose(list.rows[list.at]);
    else if (key === 'Escape' || asks) closeList();
    else if (key in MOVES || (key.length === 1 && !event.ctrlKey && !event.metaKey)) moved(key);
    else return;
    if (key !== 'Tab') { event.preventDefault(); event.stopPropagation(); }
  } else if (asks || key === ' ') {
    if (ownList(field)) openList(field);
    else if (!field?.matches(PICKERS)) return;
    event.preventDefault();
  }
};

const guardLists = (view) => {
  view.addEventListener('mousedown', pressed, true);
  view.addEventListener('click', clicked, true);
  view.addEventListener('keydown', keyed, true);
  view.addEventListener('scroll', (event) => { if (event.target === view.document) closeList(); }, true);
};

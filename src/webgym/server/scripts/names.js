// What an element is (role), is called (name) and how it stands (states), as an assistive technology would say it.

// Most elements have no role at all: asked for one first, they need not be held against each.
const INTERACTIVE =
  'a[href],area[href],button,input:not([type=hidden]),select,textarea,summary,option,label,video[controls],' +
  'audio[controls],[contenteditable=""],[contenteditable=true],[tabindex]:not([tabindex="-1"]),[onclick],' +
  '[role]:is([role=button],[role=link],[role=checkbox],[role=radio],[role=switch],[role=tab],[role=menuitem],' +
  '[role=menuitemcheckbox],[role=menuitemradio],[role=option],[role=combobox],[role=textbox],[role=searchbox],' +
  '[role=slider],[role=spinbutton],[role=treeitem],[role=gridcell][tabindex])';
const ROLES = {
  A: 'link', AREA: 'link', BUTTON: 'button', SELECT: 'combobox', TEXTAREA: 'textbox', SUMMARY: 'button',
  OPTION: 'option', LABEL: 'label', VIDEO: 'video', AUDIO: 'audio', IMG: 'image', NAV: 'navigation', MAIN: 'main',
  HEADER: 'banner', FOOTER: 'contentinfo', ASIDE: 'complementary', FORM: 'form', TABLE: 'table', TR: 'row',
  TH: 'columnheader', TD: 'cell', UL: 'list', OL: 'list', LI: 'listitem', H1: 'heading', H2: 'heading',
  H3: 'heading', H4: 'heading', H5: 'heading', H6: 'heading', IFRAME: 'iframe', DIALOG: 'dialog',
  PROGRESS: 'progressbar', METER: 'meter', FIELDSET: 'group', P: 'paragraph',
};
const INPUT_ROLES = {
  button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button', checkbox: 'checkbox',
  radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox',
};
// A field called `title` is what its form has for a title: only text is text.
const clip = (text, most) => {
  const flat = (typeof text === 'string' ? text : '').replace(/\s+/g, ' ').trim();
  return flat.length > most ? flat.slice(0, most - 1) + '…' : flat;
};

const role = (element) => {
  const given = element.getAttribute('role');
  if (given) return clip(given.split(' ')[0], 40);
  if (element.tagName === 'INPUT') return INPUT_ROLES[element.type] || 'textbox';
  if (element.tagName === 'A' && !element.hasAttribute('href')) return 'generic';
  if (element.isContentEditable && element.hasAttribute('contenteditable')) return 'textbox';
  return ROLES[element.tagName] || 'generic';
};

// innerText lays out; textContent of a huge subtree is long: read the front only.
const front = (element, most, hidden = false) => {
  let text = '', before = element;
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  // Words of different blocks do not run together; `Cart (<b>1</b>)` does.
  const apart = (node) => node !== element && getComputedStyle(node).display !== 'inline';
  for (let n = 0; n < 200 && text.length < most * 2 && walker.nextNode(); n++) {
    const parent = walker.currentNode.parentElement || element;
    if (parent !== element) {
      // The choices and the content of a field are not part of its label.
      if (/^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|OPTION|TEXTAREA)$/.test(parent.tagName)) continue;
      if (!hidden && !parent.checkVisibility({ visibilityProperty: true })) continue;
    }
    const broken = walker.currentNode.previousSibling?.nodeName === 'BR' || apart(parent) || apart(before);
    text += (broken ? ' ' : '') + walker.currentNode.data;
    before = parent;
  }
  return text;
};

const name = (element, most = 120) => {
  const ids = element.getAttribute('aria-labelledby');
  if (ids) {
    const text = ids.split(/\s+/).slice(0, 8)
      .map((id) => element.getRootNode().getElementById?.(id)).filter(Boolean).map((e) => front(e, most, true)).join(' ');
    if (text.trim()) return clip(text, most);
  }
  const label = element.getAttribute('aria-label');
  if (label && label.trim()) return clip(label, most);
  const tag = element.tagName;
  if (tag === 'INPUT' || tag === 'TEXTAREA' || tag === 'SELECT') {
    if (tag === 'INPUT' && /^(submit|button|reset)$/.test(element.type)) return clip(element.value || element.type, most);
    const own = element.labels && element.labels.length ? front(element.labels[0], most) : '';
    return clip(own || element.placeholder || element.title || element.name || '', most);
  }
  if (tag === 'IMG') return clip(element.alt || element.title, most);
  let text = front(element, most);
  if (!text.trim()) {
    const picture = element.querySelector('img[alt],svg title,[aria-label]');
    text = picture ? picture.getAttribute('alt') || picture.getAttribute('aria-label') || picture.textContent : '';
  }
  return clip(text.trim() ? text : element.title, most);
};

const states = (element) => {
  const said = [];
  if (element.disabled || element.getAttribute('aria-disabled') === 'true') said.push('disabled');
  const checked = element.getAttribute('aria-checked') ?? (/^(checkbox|radio)$/.test(element.type) ? element.checked : null);
  if (checked !== null) said.push(String(checked) === 'true' ? 'checked' : 'not checked');
  const expanded = element.getAttribute('aria-expanded');
  if (expanded !== null) said.push(expanded === 'true' ? 'expanded' : 'collapsed');
  if (element.getAttribute('aria-selected') === 'true') said.push('selected');
  if (element.tagName === 'SELECT') {
    said.push('value "' + clip([...element.selectedOptions].map((o) => o.label).join(', '), 120) + '"');
  } else if (/^(INPUT|TEXTAREA)$/.test(element.tagName) && !/^(checkbox|radio|password|submit|button|file)$/.test(element.type)) {
    if (element.value) said.push('value "' + clip(element.value, 120) + '"');
  }
  if (element === element.getRootNode().activeElement) said.push('focused');
  return said;
};

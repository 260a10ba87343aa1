// Runs in an isolated world of each document we look at. The page cannot see it; it must not disturb the page.
// `webgym.rest` tells when the page has come to rest, `webgym.look` what is on screen, `webgym.aim` where an element is.
globalThis.webgym ??= (() => {
  const INTERACTIVE =
    'a[href],area[href],button,input:not([type=hidden]),select,textarea,summary,option,label[for],video[controls],' +
    'audio[controls],[contenteditable=""],[contenteditable=true],[tabindex]:not([tabindex="-1"]),[onclick],' +
    '[role=button],[role=link],[role=checkbox],[role=radio],[role=switch],[role=tab],[role=menuitem],' +
    '[role=menuitemcheckbox],[role=menuitemradio],[role=option],[role=combobox],[role=textbox],[role=searchbox],' +
    '[role=slider],[role=spinbutton],[role=treeitem],[role=gridcell][tabindex]';
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
  let marked = [];
  let overlay = null;

  const clip = (text, most) => {
    const flat = (text || '').replace(/\s+/g, ' ').trim();
    return flat.length > most ? flat.slice(0, most - 1) + '…' : flat;
  };

  const role = (element) => {
    const given = element.getAttribute('role');
    if (given) return clip(given.split(' ')[0], 40);
    if (element.tagName === 'INPUT') return INPUT_ROLES[element.type] || 'textbox';
    return ROLES[element.tagName] || 'generic';
  };

  // innerText lays out; textContent of a huge subtree is long: read the front only.
  const front = (element, most) => {
    let text = '';
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let n = 0; n < 200 && text.length < most * 2 && walker.nextNode(); n++) {
      const parent = walker.currentNode.parentElement;
      if (parent && /^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE)$/.test(parent.tagName)) continue;
      text += ' ' + walker.currentNode.data;
    }
    return text;
  };

  const name = (element, most = 120) => {
    const ids = element.getAttribute('aria-labelledby');
    if (ids) {
      const text = ids.split(/\s+/).slice(0, 8)
        .map((id) => element.getRootNode().getElementById?.(id)).filter(Boolean).map((e) => front(e, most)).join(' ');
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

  // ── coming to rest ──────────────────────────────────────────────────────────────────────────────────────────────

  const inView = (box) =>
    box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;

  // A transition or a finite animation a person would watch to its end, if that end is near.
  const moving = (left) => {
    for (const animation of document.getAnimations().slice(0, 200)) {
      if (animation.playState !== 'running' || !animation.effect) continue;
      const timing = animation.effect.getComputedTiming();
      if (timing.endTime === Infinity || animation.timeline !== document.timeline) continue;
      const rest = (timing.endTime - (animation.currentTime ?? 0)) / Math.abs(animation.playbackRate || 1);
      if (rest > left) continue;
      const target = animation.effect.target;
      if (target && inView(target.getBoundingClientRect())) return Math.max(rest, 1);
    }
    return 0;
  };

  const imagesToCome = () => {
    const images = document.images;
    for (let n = 0; n < Math.min(images.length, 500); n++) {
      if (!images[n].complete && inView(images[n].getBoundingClientRect())) return true;
    }
    return document.fonts.status === 'loading';
  };

  // Resolves when nothing has changed for `quiet` ms, or after `cap` ms. Timers, not frames: a frame costs CPU.
  const rest = ({ quiet, cap }) => new Promise((resolve) => {
    const started = performance.now();
    let last = started;
    const observer = new MutationObserver(() => { last = performance.now(); });
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    const finish = (capped) => { observer.disconnect(); resolve({ capped }); };
    const check = () => {
      const now = performance.now();
      const left = cap - (now - started);
      if (left <= 0) return finish(true);
      const wait = quiet - (now - last);
      if (wait > 0.5) return setTimeout(check, Math.min(wait, left));
      const motion = moving(left);
      if (motion) { last = now; return setTimeout(check, Math.min(motion, left)); }
      if (imagesToCome()) return setTimeout(check, Math.min(50, left));
      return finish(false);
    };
    setTimeout(check, Math.min(quiet, cap));
  });

  // ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────

  const particulars = () => {
    const page = document.scrollingElement || document.documentElement;
    return {
      title: clip(document.title, 500), x: scrollX, y: scrollY,
      width: page ? page.scrollWidth : innerWidth, height: page ? page.scrollHeight : innerHeight,
    };
  };

  const contains = (outer, inner) => {
    for (let node = inner; node; node = node.parentNode || node.host) if (node === outer) return true;
    return false;
  };

  // The part of an element's boxes inside `view`, if the topmost thing there belongs to it.
  const visibleBox = (element, view) => {
    const whole = element.getBoundingClientRect();
    if (whole.bottom <= view.top || whole.top >= view.bottom || whole.right <= view.left || whole.left >= view.right) return null;
    if (whole.width < 1 || whole.height < 1) return null;
    // A link broken over two lines has two boxes and nothing in the middle of their union: take the largest.
    let box = whole;
    if (element.tagName === 'A') {
      for (const part of element.getClientRects()) {
        if (box === whole || part.width * part.height > box.width * box.height) box = part;
      }
    }
    const left = Math.max(box.left, view.left), top = Math.max(box.top, view.top);
    const right = Math.min(box.right, view.right), bottom = Math.min(box.bottom, view.bottom);
    if (right - left < 3 || bottom - top < 3) return null;
    const root = element.getRootNode();
    const x = (left + right) / 2, y = (top + bottom) / 2;
    const hits = (px, py) => {
      const hit = root.elementFromPoint ? root.elementFromPoint(px, py) : null;
      return hit && (contains(element, hit) || contains(hit, element) && hit.tagName === 'LABEL' ||
        element.labels && [...element.labels].some((label) => contains(label, hit)));
    };
    if (!hits(x, y) && !hits(left + 2, top + 2) && !hits(right - 2, bottom - 2)) return null;
    return { x: left, y: top, width: right - left, height: bottom - top };
  };

  const collect = (root, view, found, budget) => {
    const listed = root.querySelectorAll(INTERACTIVE);
    const seen = new Set();
    const consider = (element) => {
      if (seen.has(element)) return true;
      seen.add(element);
      if (found.length >= budget.most || performance.now() > budget.until) { budget.cut = true; return false; }
      if (element.tagName === 'OPTION' && !element.closest('select[size],select[multiple],[role=listbox]')) return true;
      const box = visibleBox(element, view);
      if (!box) return true;
      const style = getComputedStyle(element);
      if (style.visibility !== 'visible' || +style.opacity === 0 && element.tagName !== 'INPUT') return true;
      found.push({ element, box });
      return true;
    };
    for (let n = 0; n < listed.length; n++) {
      if (n % 64 === 0 && performance.now() > budget.until) { budget.cut = true; return; }
      if (!consider(listed[n])) return;
    }
    // What only the pointer gives away: <div onclick> by script, styled with cursor: pointer. Sampled on a grid,
    // because asking the style of every element would cost more than the screenshot.
    const step = 32;
    for (let y = view.top + step / 2; y < view.bottom; y += step) {
      let before = null;
      if (performance.now() > budget.until) { budget.cut = true; return; }
      for (let x = view.left + step / 2; x < view.right; x += step) {
        let hit = root.elementFromPoint(x, y);
        if (!hit || hit === before) continue;
        before = hit;
        if (hit.shadowRoot && !budget.roots.has(hit.shadowRoot)) {
          budget.roots.add(hit.shadowRoot);
          collect(hit.shadowRoot, view, found, budget);
        }
        if (budget.asked.has(hit)) continue;
        budget.asked.add(hit);
        if (hit.tagName === 'IFRAME') { inside(hit, view, found, budget); continue; }
        if (hit.closest(INTERACTIVE) || getComputedStyle(hit).cursor !== 'pointer') continue;
        while (hit.parentElement && getComputedStyle(hit.parentElement).cursor === 'pointer') hit = hit.parentElement;
        if (!hit.closest(INTERACTIVE) && !consider(hit)) return;
      }
    }
  };

  // A same-site frame: its document is ours to read; its boxes are moved to this document's coordinates.
  const inside = (frame, view, found, budget) => {
    let inner = null;
    try { inner = frame.contentDocument; } catch { return; }
    if (!inner || !inner.documentElement) return;
    const border = frame.getBoundingClientRect();
    const dx = border.left + frame.clientLeft, dy = border.top + frame.clientTop;
    const window = {
      left: Math.max(0, view.left - dx), top: Math.max(0, view.top - dy),
      right: Math.min(frame.clientWidth, view.right - dx), bottom: Math.min(frame.clientHeight, view.bottom - dy),
    };
    if (window.right <= window.left || window.bottom <= window.top) return;
    const start = found.length;
    collect(inner, window, found, budget);
    for (const item of found.slice(start)) item.box = { ...item.box, x: item.box.x + dx, y: item.box.y + dy };
  };

  const collectMarks = ({ most, ms, first, view }) => {
    const budget = { most, until: performance.now() + ms, cut: false, roots: new Set(), asked: new Set() };
    const found = [];
    const all = { left: 0, top: 0, right: innerWidth, bottom: innerHeight, ...view };
    collect(document, all, found, budget);
    found.sort((a, b) => a.box.y - b.box.y || a.box.x - b.box.x);
    marked = found.map((item) => item.element);
    return {
      truncated: budget.cut,
      marks: found.map(({ element, box }, n) => ({ id: first + n, role: role(element), name: name(element), box })),
    };
  };

  const HUES = [210, 0, 130, 280, 30, 330, 170, 50];

  const draw = (marks) => {
    erase();
    overlay = document.createElement('div');
    overlay.style.cssText = 'all:initial!important;position:fixed!important;inset:0!important;z-index:2147483647!important;' +
      'pointer-events:none!important;contain:strict!important;';
    const shadow = overlay.attachShadow({ mode: 'closed' });
    const parts = ['<style>i{position:absolute;box-sizing:border-box;border:2px solid}b{position:absolute;font:bold 12px/14px ' +
      'Arial,sans-serif;color:#fff;padding:0 2px}</style>'];
    for (const { id, box } of marks) {
      const colour = `hsl(${HUES[id % HUES.length]} 80% 38%)`;
      const width = 4 + 7 * String(id).length;
      const above = box.y >= 14;
      const x = Math.max(0, Math.min(box.x, innerWidth - width));
      const y = above ? box.y - 14 : box.y;
      parts.push(`<i style="left:${box.x}px;top:${box.y}px;width:${box.width}px;height:${box.height}px;border-color:${colour}"></i>` +
        `<b style="left:${x}px;top:${y}px;background:${colour}">${id | 0}</b>`);
    }
    shadow.innerHTML = parts.join('');
    document.documentElement.append(overlay);
  };

  const erase = () => { overlay?.remove(); overlay = null; };

  const outline = ({ most, ms }) => {
    const until = performance.now() + ms;
    const view = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
    const lines = [];
    let size = 0, cut = false;
    const SHOWN = /^(heading|link|button|checkbox|radio|switch|textbox|searchbox|combobox|slider|spinbutton|tab|menuitem.*|option|image|columnheader|cell|row|listitem|paragraph|navigation|main|banner|contentinfo|dialog|alert|table|list|form|progressbar|treeitem|label)$/;
    const WHOLE = /^(heading|link|button|option|tab|menuitem.*|label|columnheader|image|textbox|searchbox|combobox|checkbox|radio|slider|spinbutton|switch)$/;
    const say = (depth, text) => {
      size += text.length + depth + 1;
      if (size > most) { cut = true; return; }
      lines.push(' '.repeat(Math.min(depth, 20)) + text);
    };
    const walk = (node, depth) => {
      for (const child of node.childNodes) {
        if (cut || performance.now() > until) { cut = true; return; }
        if (child.nodeType === Node.TEXT_NODE) {
          const text = clip(child.data, 400);
          if (text) say(depth, `text "${text}"`);
          continue;
        }
        if (child.nodeType !== Node.ELEMENT_NODE || /^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|HEAD|svg)$/.test(child.tagName)) continue;
        if (child === overlay || child.getAttribute('aria-hidden') === 'true') continue;
        const style = getComputedStyle(child);
        if (style.display === 'none') continue;
        const box = child.getBoundingClientRect();
        const flows = style.display === 'contents' || style.overflow === 'visible' || box.height === 0;
        const outside = box.bottom <= view.top || box.top >= view.bottom || box.right <= view.left || box.left >= view.right;
        if (outside && !(flows && child.childElementCount)) continue;
        const kind = role(child);
        let deeper = depth;
        if (!outside && SHOWN.test(kind) && style.visibility === 'visible') {
          const leaf = WHOLE.test(kind);
          const label = leaf ? name(child) : child.getAttribute('aria-label') || '';
          const level = kind === 'heading' ? ` level ${child.getAttribute('aria-level') || child.tagName[1]}` : '';
          const said = leaf ? states(child) : [];
          if (leaf || label || !/^(paragraph|cell|row|listitem|list)$/.test(kind)) {
            say(depth, kind + level + (label ? ` "${label}"` : '') + (said.length ? ` (${said.join(', ')})` : ''));
            deeper = depth + 1;
          }
          if (leaf) continue;
        }
        if (child.tagName === 'IFRAME') {
          try { if (child.contentDocument?.body) walk(child.contentDocument.body, deeper); } catch { /* another site's */ }
          continue;
        }
        walk(child.shadowRoot || child, deeper);
      }
    };
    if (document.body) walk(document.body, 0);
    return { text: lines.join('\n'), truncated: cut };
  };

  const text = ({ most }) => {
    const all = document.body ? document.body.innerText : '';
    return { text: all.slice(0, most), truncated: all.length > most };
  };

  // ── aiming ──────────────────────────────────────────────────────────────────────────────────────────────────────

  const offset = (element) => {
    let dx = 0, dy = 0;
    for (let view = element.ownerDocument.defaultView; view && view !== globalThis && view.frameElement; view = view.parent) {
      const border = view.frameElement.getBoundingClientRect();
      dx += border.left + view.frameElement.clientLeft;
      dy += border.top + view.frameElement.clientTop;
    }
    return { dx, dy };
  };

  const aim = (index) => {
    const element = marked[index];
    if (!element || !element.isConnected) return null;
    const view = element.ownerDocument.defaultView || globalThis;
    const inside = { left: 0, top: 0, right: view.innerWidth, bottom: view.innerHeight };
    let box = visibleBox(element, inside);
    if (!box) {
      element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
      box = visibleBox(element, inside) || element.getBoundingClientRect();
    }
    const { dx, dy } = offset(element);
    return { x: box.x + box.width / 2 + dx, y: box.y + box.height / 2 + dy };
  };

  const deepest = (x, y) => {
    let root = document, element = null;
    for (let n = 0; n < 50; n++) {
      const hit = root.elementFromPoint(x, y);
      if (!hit || hit === element) break;
      element = hit;
      if (hit.shadowRoot) { root = hit.shadowRoot; continue; }
      if (hit.tagName !== 'IFRAME') break;
      let inner = null;
      try { inner = hit.contentDocument; } catch { /* another site's */ }
      if (!inner) break;
      const border = hit.getBoundingClientRect();
      x -= border.left + hit.clientLeft;
      y -= border.top + hit.clientTop;
      root = inner;
    }
    return element;
  };

  const select = ({ index, x, y, options }) => {
    let list = index === null ? deepest(x, y) : marked[index];
    list = list && list.closest('select') || list?.querySelector?.('select') || list?.control;
    if (!list || list.tagName !== 'SELECT') return 'there is no <select> at that place';
    const wanted = [];
    for (const option of options) {
      const found = [...list.options].find((o) => clip(o.label, 2000) === clip(option, 2000)) ||
        [...list.options].find((o) => o.value === option);
      if (!found) {
        const choices = [...list.options].slice(0, 30).map((o) => clip(o.label, 60)).join(' | ');
        return `there is no option "${clip(option, 100)}"; the options are: ${choices}`;
      }
      if (found.disabled) return `the option "${clip(option, 100)}" is disabled`;
      wanted.push(found);
    }
    if (!list.multiple && wanted.length > 1) return 'this list takes one option only';
    list.focus();
    if (list.multiple) for (const o of list.options) o.selected = wanted.includes(o);
    else if (wanted.length) list.selectedIndex = wanted[0].index;
    const view = list.ownerDocument.defaultView;
    list.dispatchEvent(new view.Event('input', { bubbles: true, composed: true }));
    list.dispatchEvent(new view.Event('change', { bubbles: true }));
    return null;
  };

  const storage = () => ({ origin: location.origin, items: Object.entries(localStorage).map(([name, value]) => ({ name, value })) });

  return { rest, particulars, collectMarks, draw, erase, outline, text, aim, select, storage };
})();
null;

// What is copied and pasted. Chromium has one clipboard for all sessions: so the text is taken from the event by which a page
// hears that it is copied, and given back to it as the event by which it hears of pasting.

const MOST_COPIED = 100000;
let copied = '';

const selectedText = (event) => {
  const field = event.composedPath()[0];
  if (!/^(INPUT|TEXTAREA)$/.test(field.tagName)) return String(field.ownerDocument.defaultView.getSelection());
  return field.type === 'password' || field.selectionStart === null ? '' : field.value.slice(field.selectionStart, field.selectionEnd);
};

const keep = (text) => { if (text) copied = text.slice(0, MOST_COPIED); };

const watchCopying = (view) => {
  for (const kind of ['copy', 'cut']) {
    view.addEventListener(kind, (event) => { if (event.isTrusted) keep(attempt(() => selectedText(event))); }, true);
    // A page that prevents the default has something else to give.
    view.addEventListener(kind, (event) => {
      if (event.isTrusted && event.defaultPrevented) keep(event.clipboardData.getData('text/plain'));
    });
  }
};

const takeCopied = () => {
  const taken = copied;
  copied = '';
  return taken;
};

// What can have the focus because a frame inside it has, of another site perhaps: frames, and hosts of closed shadows. (A body
// can be one, too, and is what has the focus when nothing has it.)
const MAY_HOLD_A_FRAME = /^(I?FRAME|OBJECT|EMBED|ARTICLE|ASIDE|BLOCKQUOTE|DIV|FOOTER|H[1-6]|HEADER|MAIN|NAV|P|SECTION|SPAN)$|-/;

// Whether the page has seen to it itself: if not, the text is to be typed where the focus is.
const paste = (text) => {
  const target = focusedElement();
  // What is pasted into a frame of another site is not this page's to hear.
  if (!target.isContentEditable && MAY_HOLD_A_FRAME.test(target.tagName.toUpperCase())) return false;
  const view = target.ownerDocument.defaultView, data = new view.DataTransfer();
  data.setData('text/plain', text);
  const event = new view.ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true, composed: true });
  return !target.dispatchEvent(event);
};

const watched = new WeakSet();

// The documents that are ours to read; a frame of another site has a script of its own or none.
const watchDocuments = (view) => {
  try {
    if (!watched.has(view.document)) {
      watched.add(view.document);
      guardLists(view);
      watchCopying(view);
    }
    for (let n = 0; n < Math.min(view.frames.length, 50); n++) watchDocuments(view.frames[n]);
  } catch { /* another site's */ }
};

// Comfort of every page; without it the server says the same, a click later.
(() => {
  /** The browser drops the answer to the first submission for a second one, so that is held until the page is shown anew. */
  const heldMs = 5000; // A load that was stopped and a download tell nothing. The server knows a repetition.
  addEventListener('submit', (event) => {
    const { target: form, submitter } = event;
    if (event.defaultPrevented || form.getAttribute('method') !== 'post') return;
    if (submitter?.hasAttribute('formtarget')) return; // the answer is shown elsewhere, and this page stays
    if ('sent' in form.dataset) return event.preventDefault();
    form.dataset.sent = '';
    submitter?.setAttribute('aria-disabled', 'true'); // `disabled` would keep its value from being sent
    setTimeout(() => {
      delete form.dataset.sent;
      submitter?.removeAttribute('aria-disabled');
    }, heldMs);
  });

  // The page as it was before a sign-out. One that answers a form cannot be had again without sending the form.
  addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return;
    if ('answer' in document.documentElement.dataset) location.replace(location.pathname);
    else location.reload();
  });

  const openMenu = () => document.querySelector('details.menu[open]');
  addEventListener('click', ({ target }) => {
    const menu = openMenu();
    if (menu && !menu.contains(target)) menu.open = false;
  });
  addEventListener('keydown', ({ key }) => {
    const menu = key === 'Escape' && openMenu();
    if (!menu) return;
    menu.open = false;
    menu.querySelector('summary').focus();
  });

  // To the search of the console, also from a text field. A single letter or sign would be a command that speech input types by
  // chance (WCAG 2.2 §2.1.4), and on a Mac Ctrl+K edits text.
  const search = document.querySelector('#jump');
  if (search) {
    const isMac = navigator.platform.startsWith('Mac');
    if (matchMedia('(hover: hover)').matches) search.placeholder += isMac ? ' (⌘K)' : ' (Ctrl+K)';
    addEventListener('keydown', (event) => {
      const { key, metaKey, ctrlKey, altKey, shiftKey } = event;
      if (key !== 'k' || altKey || shiftKey || metaKey !== isMac || ctrlKey === isMac) return;
      event.preventDefault();
      search.focus();
      search.select();
    });
  }

  // On a phone the navigation is one line that scrolls: it begins where the tab of this page is to be seen.
  const current = document.querySelector('.tabs [aria-current]');
  const line = current?.closest('.tabs');
  if (line) {
    const [whole, part] = [line, current].map((element) => element.getBoundingClientRect());
    line.scrollLeft += part.left + part.width / 2 - whole.left - whole.width / 2;
  }
})();

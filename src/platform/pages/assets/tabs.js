// On a phone the navigation is one line that scrolls: it begins where the tab of this page is to be seen.
(() => {
  const current = document.querySelector('.tabs [aria-current]');
  const line = current?.closest('.tabs');
  if (line) line.scrollLeft = current.offsetLeft - (line.clientWidth - current.offsetWidth) / 2;
})();

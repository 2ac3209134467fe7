// The time zone of this browser, one click away instead of one of hundreds.
(() => {
  const button = document.querySelector('[data-zone]');
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const options = [...(document.querySelector('#zoneinfo')?.options ?? [])];
  const place = zone.slice(zone.indexOf('/') + 1).replaceAll('_', ' ');
  const own = options.find(({ value, dataset }) => [zone, place].includes(value) || dataset.old === zone);
  if (!button || !own) return;
  const select = own.closest('select');
  const offer = () => {
    button.hidden = own.selected;
  };
  button.textContent = button.dataset.zone.replace('{zone}', own.text);
  button.addEventListener('click', () => {
    own.selected = true;
    offer();
    select.focus();
  });
  select.addEventListener('change', offer);
  offer();
})();

// Times in the zone and the format of the reader; without it days are those of UTC, and what is exact says UTC.
(() => {
  const { lang } = document.documentElement;
  const locale = navigator.languages.find((tag) => tag.startsWith(`${lang}-`)) ?? lang;
  const formats = {
    day: new Intl.DateTimeFormat(locale, { dateStyle: 'long' }),
    exact: new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }),
  };
  const full = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long' });
  for (const time of document.querySelectorAll('time[title]')) {
    const at = new Date(time.dateTime);
    const format = formats[time.dataset.time]; // what is relative stays so
    if (format) time.textContent = format.format(at);
    time.title = `${full.format(at)} (${time.title})`;
  }
})();

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
    // "5:23 PM" and "24 February" stay on one line.
    if (format)
      time.textContent = format
        .formatToParts(at)
        .map(({ value }, place, parts) => {
          const [before, after] = [parts[place - 1]?.type, parts[place + 1]?.type];
          const isOfDay = before === 'day' ? after === 'month' : before === 'month' && after === 'day';
          return isOfDay || after === 'dayPeriod' ? value.replaceAll(/\s/g, '\u00a0') : value;
        })
        .join('');
    time.title = `${full.format(at)} (${time.title})`;
  }
})();

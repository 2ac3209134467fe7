/**
 * A moment as somebody types it: Unix seconds, a day, or a day and a time (RFC 3339); UTC unless it says otherwise.
 * @param edge where a day alone is meant: its first second or its last.
 * @returns Unix seconds; undefined for what is none.
 */
export function parseTime(text: string, edge: 'first' | 'last'): number | undefined {
  if (/^\d{1,11}$/.test(text)) return text.length === 8 ? undefined : Number(text); // 20270131 is not from 1970
  const [, day, time = edge === 'first' ? '00:00:00' : '23:59:59', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?)?$/i.exec(text) ?? [];
  const at = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  return day === undefined || Number.isNaN(at) || !isDay(day) ? undefined : Math.floor(at / 1000);
}

/** `Date.parse` takes the 31st of February for the 3rd of March. */
const isDay = (day: string): boolean => {
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
};

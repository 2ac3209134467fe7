// What a page says about the form before gets the focus, and so is read out: screen readers announce an alert or a status
// only when it appears later than the page.

const message = /(?<=<div class="(?:alert" role="alert|notice" role="status)")/;

/** Puts the focus on the first field that is wrong, else where the page wants it, else on what the page says. */
export function withFocus(markup: string): string {
  if (!message.test(markup)) return markup;
  const wrong = /<(?:input|select|textarea)\b[^>]*\saria-invalid="true"/.exec(markup);
  if (wrong) {
    const at = wrong.index + wrong[0].length;
    const isFocused = /^[^>]*\sautofocus[\s>]/.test(markup.slice(wrong.index));
    const others = (part: string) => part.replace(/(<(?:input|select|textarea)\b[^>]*?)\sautofocus(?=[\s>])/g, '$1');
    return isFocused ? markup : `${others(markup.slice(0, at))} autofocus${others(markup.slice(at))}`;
  }
  if (/<[a-z]+\b[^>]*\sautofocus[\s>]/.test(markup)) return markup;
  return markup.replace(message, ' tabindex="-1" autofocus');
}

/** Each problem in a list leads to its field, if the page has it. */
export const linkProblems = (markup: string): string =>
  markup.replace(/<li data-field="([^"]*)">(.*?)<\/li>/gs, (_, field: string, text: string) =>
    markup.includes(` id="${field}"`) ? `<li><a href="#${field}">${text}</a></li>` : `<li>${text}</li>`,
  );

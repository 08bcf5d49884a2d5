/** Returns the text without the given characters at its end, in time proportional to their number. A
 *  regular expression would search again from each such character in the text. Pure. */
export function trimEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

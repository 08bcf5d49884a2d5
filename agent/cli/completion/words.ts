/** Splits a command line as a shell does, up to the cursor. Expands nothing. Pure. */

export interface TypedWords {
  /** Complete words, after the name of the program. */
  readonly before: readonly string[];
  /** The word at the cursor. */
  readonly current: string;
}

const LONGEST_LINE = 100_000;

export function splitWords(line: string): TypedWords {
  const words: string[] = [];
  let word = '';
  let quote = '';
  let isOpen = false;
  for (let at = 0; at < Math.min(line.length, LONGEST_LINE); at += 1) {
    const character = line[at] ?? '';
    if (quote === '' && (character === ' ' || character === '\t' || character === '\n')) {
      if (isOpen) words.push(word);
      word = '';
      isOpen = false;
      continue;
    }
    isOpen = true;
    if (character === '\\' && quote !== "'") {
      at += 1;
      word += line[at] ?? '';
    } else if (character === quote) quote = '';
    else if (quote === '' && (character === '"' || character === "'")) quote = character;
    else word += character;
  }
  return { before: words.slice(1), current: isOpen && words.length > 0 ? word : '' };
}

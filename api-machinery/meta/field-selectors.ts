/** Field selectors: `metadata.name=x,spec.nodeName!=y`. Only equality; `\` escapes a comma, equals sign or
 *  itself. Each resource defines its selectable fields. Source: field selectors, document 1. */
import { SelectorError } from './selectors.ts';

export interface FieldRequirement {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/** Splits at unescaped commas; escapes stay in the parts. */
function splitTerms(text: string): readonly string[] {
  const terms = [''];
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? '';
    const last = terms.length - 1;
    if (character === ',') terms.push('');
    else if (character === '\\') {
      terms[last] += character + (text[index + 1] ?? '');
      index += 1;
    } else terms[last] += character;
  }
  return terms;
}

function unescapeValue(text: string, whole: string): string {
  let result = '';
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? '';
    if (character === '=') throw new SelectorError(whole, "a value's '=' must be written '\\='");
    if (character !== '\\') {
      result += character;
      continue;
    }
    const escaped = text[index + 1] ?? '';
    if (!'\\,='.includes(escaped) || escaped === '') {
      throw new SelectorError(whole, "'\\' may stand only before '\\', ',' or '='");
    }
    result += escaped;
    index += 1;
  }
  return result;
}

/** Parses a field selector; the empty text selects everything.
 *  @throws SelectorError */
export function parseFieldSelector(text: string): readonly FieldRequirement[] {
  return splitTerms(text)
    .filter((term) => term !== '')
    .map((term) => {
      const match = /^([^=!\\]+)(==|!=|=)([\s\S]*)$/.exec(term);
      const [, field, operator, value] = match ?? [];
      if (field === undefined || value === undefined) {
        throw new SelectorError(text, `'${term}' must have the form field=value or field!=value`);
      }
      return { field, equal: operator !== '!=', value: unescapeValue(value, text) };
    });
}

/** Reports whether the fields meet every requirement; an absent field counts as empty. */
export function matchesFields(
  requirements: readonly FieldRequirement[],
  fields: Readonly<Record<string, string>>,
): boolean {
  return requirements.every(({ field, equal, value }) => ((fields[field] ?? '') === value) === equal);
}

/** Formats requirements with escapes; the text parses to the same requirements. */
export function formatFieldSelector(requirements: readonly FieldRequirement[]): string {
  return requirements
    .map(
      ({ field, equal, value }) =>
        `${field}${equal ? '=' : '!='}${value.replaceAll(/[\\,=]/g, (c) => `\\${c}`)}`,
    )
    .join(',');
}

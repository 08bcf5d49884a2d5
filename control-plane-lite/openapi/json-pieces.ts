/** A document as JSON, piece by piece. Pure. */
import type { Outline, Section } from './documents.ts';

function* sectionPieces({ within, name, entries }: Section): Generator<string> {
  const open = `${JSON.stringify(name)}:{`;
  yield within === undefined ? `,${open}` : `,${JSON.stringify(within)}:{${open}`;
  let first = true;
  for (const [key, value] of entries()) {
    yield `${first ? '' : ','}${JSON.stringify(key)}:${JSON.stringify(value)}`;
    first = false;
  }
  yield within === undefined ? '}' : '}}';
}

export function* jsonPieces({ head, sections }: Outline): Generator<string> {
  yield JSON.stringify(head).slice(0, -1);
  for (const section of sections) yield* sectionPieces(section);
  yield '}';
}

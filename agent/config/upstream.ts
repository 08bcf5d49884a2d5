/** Upstream's spellings of our flags, fields, gates and values, both ways. The names are data, generated from
 *  the fact files. */
import spellings from './gen/upstream.json' with { type: 'json' };

const entriesOf = (table: Readonly<Record<string, string>>): readonly (readonly [string, string])[] =>
  Object.entries(table);

const FLAGS = new Map(entriesOf(spellings.flags));
const FIELDS = new Map(entriesOf(spellings.fields));
const GATES = new Map(entriesOf(spellings.gates));
const DEFAULTS = new Map(entriesOf(spellings.defaults));

const reversed = (map: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([...map].map(([ours, theirs]) => [theirs, ours]));

const OUR_FLAGS = reversed(FLAGS);
const OUR_FIELDS = reversed(FIELDS);
const OUR_GATES = reversed(GATES);

/** Returns upstream's spelling of a flag, `undefined` where it is the same. */
export function upstreamFlag(name: string): string | undefined {
  return FLAGS.get(name);
}

/** Returns our spelling of a flag that may be upstream's. */
export function canonicalFlag(name: string): string {
  return OUR_FLAGS.get(name) ?? name;
}

/** Returns our spelling of a list member with the name of a flag, such as a group of reserved resources. */
export function canonicalMember(text: string): string {
  return OUR_FLAGS.get(text) ?? text;
}

/** Returns upstream's spelling of such a list member, or the same. */
export function upstreamMember(text: string): string {
  return FLAGS.get(text) ?? text;
}

/** Returns upstream's spelling of a configuration field, `undefined` where it is the same. */
export function upstreamField(path: string): string | undefined {
  return FIELDS.get(path);
}

/** Returns our spelling of a configuration field that may be upstream's. */
export function canonicalField(path: string): string {
  return OUR_FIELDS.get(path) ?? path;
}

/** Returns upstream's spelling of a feature gate, `undefined` where it is the same. */
export function upstreamGate(name: string): string | undefined {
  return GATES.get(name);
}

/** Returns our spelling of a feature gate that may be upstream's. */
export function canonicalGate(name: string): string {
  return OUR_GATES.get(name) ?? name;
}

/** Returns the default of a field whose value contains names that differ upstream. */
export function upstreamDefault(path: string): string | undefined {
  return DEFAULTS.get(path);
}

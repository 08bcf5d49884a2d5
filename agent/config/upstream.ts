/** Upstream's spellings of our flags, fields, gates and values, both ways. The words are data, made from
 *  the fact files. */
import words from './gen/upstream.json' with { type: 'json' };

const entriesOf = (spellings: Readonly<Record<string, string>>): readonly (readonly [string, string])[] =>
  Object.entries(spellings);

const FLAGS = new Map(entriesOf(words.flags));
const FIELDS = new Map(entriesOf(words.fields));
const GATES = new Map(entriesOf(words.gates));
const DEFAULTS = new Map(entriesOf(words.defaults));

const reversed = (map: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([...map].map(([ours, theirs]) => [theirs, ours]));

const OUR_FLAGS = reversed(FLAGS);
const OUR_FIELDS = reversed(FIELDS);
const OUR_GATES = reversed(GATES);

/** Upstream's spelling of a flag, `undefined` where it is the same. */
export function upstreamFlag(name: string): string | undefined {
  return FLAGS.get(name);
}

/** Our spelling of a flag that may be upstream's. */
export function canonicalFlag(name: string): string {
  return OUR_FLAGS.get(name) ?? name;
}

/** Our spelling of a list member that carries a flag's name, such as a group of reserved resources. */
export function canonicalMember(text: string): string {
  return OUR_FLAGS.get(text) ?? text;
}

/** Upstream's spelling of such a list member, or the same. */
export function upstreamMember(text: string): string {
  return FLAGS.get(text) ?? text;
}

/** Upstream's spelling of a configuration field, `undefined` where it is the same. */
export function upstreamField(path: string): string | undefined {
  return FIELDS.get(path);
}

/** Our spelling of a configuration field that may be upstream's. */
export function canonicalField(path: string): string {
  return OUR_FIELDS.get(path) ?? path;
}

/** Upstream's spelling of a feature gate, `undefined` where it is the same. */
export function upstreamGate(name: string): string | undefined {
  return GATES.get(name);
}

/** Our spelling of a feature gate that may be upstream's. */
export function canonicalGate(name: string): string {
  return OUR_GATES.get(name) ?? name;
}

/** The default of a field whose words differ upstream. */
export function upstreamDefault(path: string): string | undefined {
  return DEFAULTS.get(path);
}

/** One revision of an object in the cache. Classes, because there are as many instances as objects and past
 *  revisions: methods are shared, and derived data is only retained while it is recent. */
import { parseJsonInTurns } from '#api/codec/json-slices.ts';
import { parseJsonText } from '#api/codec/json-text.ts';
import type { ApiObject } from '../../resources/contract.ts';
import type { CachedObject, SelectableFields } from '../contract.ts';
import type { Droppable, LruBudget } from './lru-budget.ts';
import { labelsFrom, replaceRevision, scanLabels } from './stored-form.ts';

type Texts = Readonly<Record<string, string>>;

/** State shared by the objects of one resource. */
export interface ObjectContext {
  /** Fields besides the name and the namespace; may become known later than the objects. */
  selectable: SelectableFields | undefined;
  readonly parsed: LruBudget;
  readonly forms: LruBudget;
}

/** Estimated memory of a parsed object, as a multiple of its JSON bytes. */
const PARSED_FACTOR = 5;

export function namespaceOf(key: string): string {
  const slash = key.indexOf('/');
  return slash < 0 ? '' : key.slice(0, slash);
}

export function nameOf(key: string): string {
  return key.slice(key.indexOf('/') + 1);
}

/** Parses the bytes of a stored object, which this server wrote. */
function parseObject(json: Buffer): ApiObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checked when it was stored
  return parseJsonText(json.toString()) as ApiObject;
}

/** The store has its own limit. */
const ANY_LENGTH = { maxBytes: Number.POSITIVE_INFINITY };

/** Returns a shallow copy with another resource version. */
const restamped = (object: ApiObject, revision: number): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(revision) },
});

function fieldsOf(key: string, object: ApiObject, selectable: SelectableFields): Texts {
  const fields: Record<string, string> = nameFields(key);
  for (const name of Object.keys(selectable)) fields[name] = selectable[name]?.(object) ?? '';
  return fields;
}

function nameFields(key: string): Record<string, string> {
  return { 'metadata.name': nameOf(key), 'metadata.namespace': namespaceOf(key) };
}

/** An encoding, held until it is evicted. */
class HeldForm implements Droppable {
  readonly #forms: Map<string, Buffer>;
  readonly #name: string;
  constructor(forms: Map<string, Buffer>, name: string) {
    this.#forms = forms;
    this.#name = name;
  }
  drop(): void {
    this.#forms.delete(this.#name);
  }
}

export class StoredObject implements CachedObject, Droppable {
  readonly key: string;
  readonly revision: number;
  readonly json: Buffer;
  readonly madeHere: boolean;
  readonly #context: ObjectContext;
  #labels: Texts | undefined = undefined;
  #fields: Texts | undefined = undefined;
  #parsed: ApiObject | undefined = undefined;
  #forms: Map<string, Buffer> | undefined = undefined;

  /** `made`: the object that the bytes were encoded from, if at hand. */
  constructor(key: string, revision: number, json: Buffer, context: ObjectContext, made?: ApiObject) {
    this.key = key;
    this.revision = revision;
    this.json = json;
    this.madeHere = made !== undefined;
    this.#context = context;
    // Now rather than at the first selection, which would have to parse all objects at once.
    const { selectable } = context;
    if (selectable !== undefined) this.#fields = fieldsOf(key, made ?? parseObject(json), selectable);
    // Only until `drop` is called: retaining it beyond the turn costs the garbage collector more than parsing
    // it again.
    if (made !== undefined) this.#parsed = restamped(made, revision);
  }

  get namespace(): string {
    return namespaceOf(this.key);
  }

  get name(): string {
    return nameOf(this.key);
  }

  get labels(): Texts {
    this.#labels ??= scanLabels(this.json) ?? labelsFrom(this.object().metadata.labels);
    return this.#labels;
  }

  get fields(): Texts {
    if (this.#fields !== undefined) return this.#fields;
    const { selectable } = this.#context;
    if (selectable === undefined) return nameFields(this.key);
    this.#fields = fieldsOf(this.key, this.object(), selectable);
    return this.#fields;
  }

  object(): ApiObject {
    if (this.#parsed !== undefined) return this.#parsed;
    return this.#hold(parseObject(this.json));
  }

  async load(turn: () => Promise<void>): Promise<ApiObject> {
    if (this.#parsed !== undefined) return this.#parsed;
    const { value } = await parseJsonInTurns(this.json, turn, ANY_LENGTH);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checked when it was stored
    return this.#hold(value as ApiObject);
  }

  #hold(object: ApiObject): ApiObject {
    this.#parsed = object;
    this.#context.parsed.retain(this, this.json.length * PARSED_FACTOR);
    return object;
  }

  /** Drops the parsed object. */
  drop(): void {
    this.#parsed = undefined;
  }

  form(name: string, make: () => Buffer): Buffer {
    this.#forms ??= new Map();
    const known = this.#forms.get(name);
    if (known !== undefined) return known;
    const made = make();
    this.#forms.set(name, made);
    this.#context.forms.retain(new HeldForm(this.#forms, name), made.length);
    return made;
  }
}

/** The last state of an object under a later revision: that of its deletion, or of the change by which it
 *  left a selection. Its bytes are created on demand, since they are rarely read and history holds many. */
export class RestampedObject implements CachedObject {
  readonly revision: number;
  readonly #last: CachedObject;

  constructor(last: CachedObject, revision: number) {
    this.#last = last;
    this.revision = revision;
  }

  get key(): string {
    return this.#last.key;
  }

  get namespace(): string {
    return this.#last.namespace;
  }

  get name(): string {
    return this.#last.name;
  }

  get madeHere(): boolean {
    return this.#last.madeHere;
  }

  get json(): Buffer {
    return replaceRevision(this.#last.json, this.revision);
  }

  get labels(): Texts {
    return this.#last.labels;
  }

  get fields(): Texts {
    return this.#last.fields;
  }

  object(): ApiObject {
    return restamped(this.#last.object(), this.revision);
  }

  async load(turn: () => Promise<void>): Promise<ApiObject> {
    return restamped((await this.#last.load?.(turn)) ?? this.#last.object(), this.revision);
  }

  form(_name: string, make: () => Buffer): Buffer {
    return make();
  }
}

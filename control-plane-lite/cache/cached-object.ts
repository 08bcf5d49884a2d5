/** One revision of an object as the cache holds it. Classes, because there are as many as objects and their past:
 *  methods are shared, and what can be made again is only held while it is recent. */
import { parseJsonText } from '#api/codec/json-text.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { CachedObject, SelectableFields } from './contract.ts';
import type { Droppable, Keeper } from './keeper.ts';
import { labelsFrom, replaceRevision, scanLabels } from './stored-form.ts';

type Texts = Readonly<Record<string, string>>;

/** What the objects of one resource share. */
export interface ObjectContext {
  /** Fields beside the name and the namespace; may become known later than the objects. */
  selectable: SelectableFields | undefined;
  readonly parsed: Keeper;
  readonly forms: Keeper;
}

/** A parsed object takes about this many times the bytes of its JSON. */
const PARSED_FACTOR = 5;

export function namespaceOf(key: string): string {
  const slash = key.indexOf('/');
  return slash < 0 ? '' : key.slice(0, slash);
}

export function nameOf(key: string): string {
  return key.slice(key.indexOf('/') + 1);
}

/** Parses the bytes of a stored object. They were written by this server, as an object. */
function parseObject(json: Buffer): ApiObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checked when it was stored
  return parseJsonText(json.toString()) as ApiObject;
}

/** A copy with another resource version that shares everything else. */
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

/** A form, held until it is too old. */
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

  /** `made`: the object that the bytes were made of, if it is at hand. */
  constructor(key: string, revision: number, json: Buffer, context: ObjectContext, made?: ApiObject) {
    this.key = key;
    this.revision = revision;
    this.json = json;
    this.madeHere = made !== undefined;
    this.#context = context;
    // Now rather than at the first selection, which would have to parse every object at once.
    const { selectable } = context;
    if (selectable !== undefined) this.#fields = fieldsOf(key, made ?? parseObject(json), selectable);
    // Only until `drop` is called: what lives longer than its turn costs the collector more than parsing it anew.
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

  #hold(object: ApiObject): ApiObject {
    this.#parsed = object;
    this.#context.parsed.keep(this, this.json.length * PARSED_FACTOR);
    return object;
  }

  /** Lets go of the parsed object. */
  drop(): void {
    this.#parsed = undefined;
  }

  form(name: string, make: () => Buffer): Buffer {
    this.#forms ??= new Map();
    const known = this.#forms.get(name);
    if (known !== undefined) return known;
    const made = make();
    this.#forms.set(name, made);
    this.#context.forms.keep(new HeldForm(this.#forms, name), made.length);
    return made;
  }
}

/** The last state of an object under a later revision: that of its deletion, or of the change by which it left a
 *  selection. Its bytes are made when asked for, since few ask and history holds many. */
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

  form(_name: string, make: () => Buffer): Buffer {
    return make();
  }
}

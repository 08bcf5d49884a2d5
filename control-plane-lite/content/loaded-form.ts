/** Large stored objects, parsed in turns before they are encoded. */
import type { StoredForm } from '../cache/contract.ts';
import type { Turn } from '../kit/yield.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import type { Shape } from './negotiation.ts';
import { isStoredForm } from './source.ts';

/** Reports whether the bytes suffice: they are sent as they are, or formatted on another thread. */
const isShownAsStored = (resource: Resource, { as, mediaType }: Shape): boolean =>
  as === 'object' && mediaType !== 'protobuf' && isStoredForm(resource);

/** Returns a form that holds the object, if the representation needs it. */
export async function loadedForm(
  stored: StoredForm,
  resource: Resource,
  shape: Shape,
  turn: Turn,
): Promise<StoredForm> {
  const object = isShownAsStored(resource, shape) ? undefined : await stored.load?.(turn);
  await turn();
  return object === undefined ? stored : new LoadedForm(stored, object);
}

/** Holds the parsed object for as long as the response is encoded: the cache drops one that is larger than its budget. */
class LoadedForm implements StoredForm {
  readonly #stored: StoredForm;
  readonly #object: ApiObject;

  constructor(stored: StoredForm, object: ApiObject) {
    this.#stored = stored;
    this.#object = object;
  }

  get json(): Buffer {
    return this.#stored.json;
  }

  object(): ApiObject {
    return this.#object;
  }

  form(name: string, make: () => Buffer): Buffer {
    return this.#stored.form(name, make);
  }
}

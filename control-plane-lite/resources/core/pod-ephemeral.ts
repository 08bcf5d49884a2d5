/** The `ephemeralcontainers` subresource: containers added to a running pod for debugging. They cannot be
 *  removed. Source: upstream's pod ephemeral containers strategy, release 1.24. */

import type { EphemeralContainer, Pod } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { createBoundedFieldErrors } from '#api/schema/validation/field-errors.ts';
import { validatePodContent } from '#api/schema/validation/pod.ts';
import { changedPaths, sameContent } from '../content-diff.ts';
import type { ApiObject, PartStrategy, StrategyContext } from '../contract.ts';
import { keepAllBut } from '../generic.ts';
import { membersOf, typed } from '../view.ts';
import { serverPodOptions } from './pod-options.ts';
import { fillSeccompFields } from './pod-seccomp.ts';

const PATH = 'spec.ephemeralContainers';

function prepareForUpdate(draft: ApiObject, old: ApiObject, { vocabulary }: StrategyContext): void {
  const wanted = typed<Pod>(draft).spec?.ephemeralContainers;
  keepAllBut(draft, old, PATH);
  const spec = membersOf(draft, 'spec');
  if (wanted === undefined) {
    delete spec['ephemeralContainers'];
    return;
  }
  const known = new Set(containersOf(old).map(({ name }) => name));
  const annotations = draft.metadata.annotations ?? {};
  // An existing annotation may apply to the new container; admission must see the result.
  spec['ephemeralContainers'] = wanted.map((container) =>
    known.has(container.name) ? container : fillSeccompFields([container], annotations, vocabulary)[0],
  );
}

const containersOf = (object: ApiObject): readonly EphemeralContainer[] =>
  typed<Pod>(object).spec?.ephemeralContainers ?? [];

export const ephemeralContainersPart: PartStrategy = {
  prepareForUpdate,
  validateUpdate(object, old, { vocabulary, gates }): readonly FieldError[] {
    const errors = createBoundedFieldErrors();
    const now = new Map(containersOf(object).map((container) => [container.name, container]));
    for (const before of containersOf(old)) {
      const after = now.get(before.name);
      const subject = `existing ephemeral containers ${JSON.stringify(before.name)}`;
      if (after === undefined) errors.forbidden(PATH, `${subject} may not be removed`);
      else if (!sameContent(after, before)) {
        const changed = changedPaths(after, before, '').join(', ');
        errors.forbidden(PATH, `${subject} may not be changed\nchanged: ${changed}`);
      }
    }
    return [...validatePodContent(typed<Pod>(object), serverPodOptions(vocabulary, gates)), ...errors.all];
  },
};

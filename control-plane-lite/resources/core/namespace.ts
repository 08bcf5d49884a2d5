/** Namespaces: their finalizers delay deletion until their content is deleted. Source: upstream's namespace
 *  strategies, release 1.24. */

import type { Namespace } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { dns1123LabelErrors, qualifiedNameErrors } from '#api/meta/names.ts';
import { createBoundedFieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, KindEntry, PartStrategy, StrategyContext } from '../contract.ts';
import { ageOf } from '../rows.ts';
import { keepMember, membersOf, typed } from '../view.ts';

const GENERIC_FINALIZERS: readonly string[] = ['orphan', 'foregroundDeletion'];

const finalizersOf = (object: ApiObject): readonly string[] =>
  typed<Namespace>(object).spec?.finalizers ?? [];

/** Selectors can find a namespace by its name. */
function labelWithName(draft: ApiObject, { domain }: Vocabulary): void {
  const { name = '', labels } = draft.metadata;
  if (name !== '') draft.metadata.labels = { ...labels, [`${domain}/metadata.name`]: name };
}

function prepareForCreate(draft: ApiObject, { vocabulary }: StrategyContext): void {
  const { namespaceFinalizer } = vocabulary;
  const given = finalizersOf(draft);
  membersOf(draft, 'spec')['finalizers'] = given.includes(namespaceFinalizer)
    ? given
    : [...given, namespaceFinalizer];
  draft['status'] = { phase: 'Active' };
}

function finalizerErrors(object: ApiObject, { vocabulary }: StrategyContext): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  for (const finalizer of finalizersOf(object)) {
    const reasons = qualifiedNameErrors(finalizer);
    errors.invalidAll('spec.finalizers', finalizer, reasons);
    const known = finalizer === vocabulary.namespaceFinalizer || GENERIC_FINALIZERS.includes(finalizer);
    if (reasons.length === 0 && !finalizer.includes('/') && !known) {
      errors.invalid(
        'spec.finalizers',
        finalizer,
        'name is neither a standard finalizer name nor is it fully qualified',
      );
    }
  }
  return errors.all;
}

const statusPart: PartStrategy = {
  changesMetadata: true,
  prepareForUpdate: (draft, old) => keepMember(draft, old, 'spec'),
  validateUpdate(object): readonly FieldError[] {
    const errors = createBoundedFieldErrors();
    const { metadata, status } = typed<Namespace>(object);
    const deleted = metadata?.deletionTimestamp !== undefined;
    const expected = deleted ? 'Terminating' : 'Active';
    if (status?.phase !== expected) {
      const when = `\`deletionTimestamp\` is ${deleted ? 'not ' : ''}empty`;
      errors.invalid('status.Phase', status?.phase ?? '', `may only be '${expected}' if ${when}`);
    }
    return errors.all;
  },
};

const finalizePart: PartStrategy = {
  prepareForUpdate: (draft, old) => keepMember(draft, old, 'status'),
  validateUpdate: (object, _old, context) => finalizerErrors(object, context),
};

const phaseOf = (object: ApiObject): string => typed<Namespace>(object).status?.phase ?? '';

export function namespaceKind(vocabulary: Vocabulary): KindEntry {
  return {
    strategy: {
      nameErrors: dns1123LabelErrors,
      countsGeneration: false,
      normalize: (draft) => labelWithName(draft, vocabulary),
      prepareForCreate,
      validate: finalizerErrors,
      prepareForUpdate: (draft, old) => keepMember(draft, old, 'spec'),
      holdsDeletion: (object) => finalizersOf(object).length > 0,
      markDeleting: (draft) => {
        membersOf(draft, 'status')['phase'] = 'Terminating';
      },
      selectableFields: { 'status.phase': phaseOf, name: ({ metadata }) => metadata.name ?? '' },
      row: (object, { nowMs }) => [object.metadata.name ?? '', phaseOf(object), ageOf(object, nowMs)],
    },
    parts: { status: statusPart, finalize: finalizePart },
  };
}

/** Access reviews: never stored. Source: authorization/v1. */

import type {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
} from '#api/gen/authorization-v1.ts';
import type { ObjectMeta } from '#api/gen/meta-v1.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry } from '../../contract.ts';
import { kindStrategy } from '../kind.ts';

type Attributes = Pick<SubjectAccessReviewSpec, 'resourceAttributes' | 'nonResourceAttributes'>;

/** A question is about a resource or about a path. */
function validateAttributes(
  errors: FieldErrors,
  { resourceAttributes, nonResourceAttributes }: Attributes,
): void {
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    const detail = 'cannot be specified in combination with resourceAttributes';
    errors.invalid('spec.nonResourceAttributes', nonResourceAttributes, detail);
  }
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    errors.invalid('spec.resourceAttributes', null, detail);
  }
}

function validateSubject(errors: FieldErrors, { user = '', groups = [] }: SubjectAccessReviewSpec): void {
  if (user !== '' || groups.length > 0) return;
  errors.invalid('spec.user', user, 'at least one of user or group must be specified');
}

/** Metadata that the server sets, and managed fields, are allowed. */
const HARMLESS: ReadonlySet<string> = new Set(['uid', 'creationTimestamp', 'managedFields']);

function validateEmptyMetadata(errors: FieldErrors, metadata: ObjectMeta | undefined, allowed: string): void {
  const given = Object.keys(metadata ?? {}).filter((member) => !HARMLESS.has(member) && member !== allowed);
  if (given.length > 0) errors.invalid('metadata', given, 'must be empty');
}

export const subjectAccessReview: KindEntry = {
  strategy: kindStrategy<SubjectAccessReview>({
    validate(errors, { metadata, spec }) {
      validateAttributes(errors, spec);
      validateSubject(errors, spec);
      validateEmptyMetadata(errors, metadata, '');
    },
  }),
};

export const selfSubjectAccessReview: KindEntry = {
  strategy: kindStrategy<SelfSubjectAccessReview>({
    validate(errors, { metadata, spec }) {
      validateAttributes(errors, spec);
      validateEmptyMetadata(errors, metadata, '');
    },
  }),
};

export const localSubjectAccessReview: KindEntry = {
  strategy: kindStrategy<LocalSubjectAccessReview>({
    validate(errors, { metadata, spec }, { namespace }) {
      validateAttributes(errors, spec);
      validateSubject(errors, spec);
      validateEmptyMetadata(errors, metadata, 'namespace');
      const { resourceAttributes, nonResourceAttributes } = spec;
      if (resourceAttributes !== undefined && resourceAttributes.namespace !== namespace) {
        const given = resourceAttributes.namespace ?? '';
        errors.invalid('spec.resourceAttributes.namespace', given, 'must match metadata.namespace');
      }
      if (nonResourceAttributes !== undefined) {
        errors.invalid(
          'spec.nonResourceAttributes',
          nonResourceAttributes,
          'disallowed on this kind of request',
        );
      }
    },
  }),
};

export const selfSubjectRulesReview: KindEntry = {
  strategy: kindStrategy<SelfSubjectRulesReview>({
    validate(errors, { spec }) {
      if ((spec.namespace ?? '') === '') errors.required('spec.namespace', 'no namespace on request');
    },
  }),
};

/** Access reviews: never stored. Source: authorization/v1. */

import type {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
} from '#api/gen/authorization-v1.ts';
import type { ObjectMeta } from '#api/gen/meta-v1.ts';
import type { Faults } from '#api/schema/validation/faults.ts';
import type { KindEntry } from '../../contract.ts';
import { kindStrategy } from '../kind.ts';

type Attributes = Pick<SubjectAccessReviewSpec, 'resourceAttributes' | 'nonResourceAttributes'>;

/** A question is about a resource or about a path. */
function validateAttributes(faults: Faults, { resourceAttributes, nonResourceAttributes }: Attributes): void {
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    const detail = 'cannot be specified in combination with resourceAttributes';
    faults.invalid('spec.nonResourceAttributes', nonResourceAttributes, detail);
  }
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    faults.invalid('spec.resourceAttributes', null, detail);
  }
}

function validateSubject(faults: Faults, { user = '', groups = [] }: SubjectAccessReviewSpec): void {
  if (user !== '' || groups.length > 0) return;
  faults.invalid('spec.user', user, 'at least one of user or group must be specified');
}

/** Metadata that the server sets, and managed fields, are allowed. */
const HARMLESS: ReadonlySet<string> = new Set(['uid', 'creationTimestamp', 'managedFields']);

function validateEmptyMetadata(faults: Faults, metadata: ObjectMeta | undefined, allowed: string): void {
  const given = Object.keys(metadata ?? {}).filter((member) => !HARMLESS.has(member) && member !== allowed);
  if (given.length > 0) faults.invalid('metadata', given, 'must be empty');
}

export const subjectAccessReview: KindEntry = {
  strategy: kindStrategy<SubjectAccessReview>({
    validate(faults, { metadata, spec }) {
      validateAttributes(faults, spec);
      validateSubject(faults, spec);
      validateEmptyMetadata(faults, metadata, '');
    },
  }),
};

export const selfSubjectAccessReview: KindEntry = {
  strategy: kindStrategy<SelfSubjectAccessReview>({
    validate(faults, { metadata, spec }) {
      validateAttributes(faults, spec);
      validateEmptyMetadata(faults, metadata, '');
    },
  }),
};

export const localSubjectAccessReview: KindEntry = {
  strategy: kindStrategy<LocalSubjectAccessReview>({
    validate(faults, { metadata, spec }, { namespace }) {
      validateAttributes(faults, spec);
      validateSubject(faults, spec);
      validateEmptyMetadata(faults, metadata, 'namespace');
      const { resourceAttributes, nonResourceAttributes } = spec;
      if (resourceAttributes !== undefined && resourceAttributes.namespace !== namespace) {
        const given = resourceAttributes.namespace ?? '';
        faults.invalid('spec.resourceAttributes.namespace', given, 'must match metadata.namespace');
      }
      if (nonResourceAttributes !== undefined) {
        faults.invalid(
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
    validate(faults, { spec }) {
      if ((spec.namespace ?? '') === '') faults.required('spec.namespace', 'no namespace on request');
    },
  }),
};

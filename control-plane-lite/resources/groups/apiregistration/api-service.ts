/** APIServices: the servers of group versions. Source: apiregistration/v1. */

import type { APIService, APIServiceCondition, APIServiceSpec } from '#api/gen/apiregistration-v1.ts';
import { dns1035LabelErrors, dns1123SubdomainErrors, portNumberErrors } from '#api/meta/names.ts';
import { formatTime } from '#api/meta/time.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf } from '../../rows.ts';
import { kindStrategy, statusPart } from '../kind.ts';
import { pathSegmentErrors } from '../names.ts';

const HIGHEST_GROUP_PRIORITY = 20_000;
const HIGHEST_VERSION_PRIORITY = 1000;

/** Locally served versions are always available. */
const localCondition = (nowMs: number): APIServiceCondition => ({
  type: 'Available',
  status: 'True',
  lastTransitionTime: formatTime(nowMs),
  reason: 'Local',
  message: 'Local APIServices are always available',
});

function validateName(errors: FieldErrors, name: string, { group = '', version = '' }: APIServiceSpec): void {
  const wanted = `${version}.${group}`;
  if (name !== wanted) errors.invalid('metadata.name', name, 'must be `spec.version+"."+spec.group`');
  if (group === '' && version !== 'v1') {
    errors.required('spec.group', 'only v1 may have an empty group');
  } else if (group !== '') errors.invalidAll('spec.group', group, dns1123SubdomainErrors(group));
  if (version === '') errors.required('spec.version');
  else errors.invalidAll('spec.version', version, dns1035LabelErrors(version));
}

function validatePriorities(errors: FieldErrors, spec: APIServiceSpec): void {
  const { groupPriorityMinimum, versionPriority } = spec;
  const check = (value: number, highest: number, path: string): void => {
    if (value > 0 && value <= highest) return;
    errors.invalid(path, value, `must be positive and less than or equal to ${highest}`);
  };
  check(groupPriorityMinimum, HIGHEST_GROUP_PRIORITY, 'spec.groupPriorityMinimum');
  check(versionPriority, HIGHEST_VERSION_PRIORITY, 'spec.versionPriority');
}

function validateServer(errors: FieldErrors, spec: APIServiceSpec): void {
  const { service, caBundle = '', insecureSkipTLSVerify = false } = spec;
  if (service === undefined) {
    if (caBundle !== '') errors.invalid('spec.caBundle', '', 'local APIServices may not have a caBundle');
    if (insecureSkipTLSVerify) {
      errors.invalid(
        'spec.insecureSkipTLSVerify',
        true,
        'local APIServices may not have insecureSkipTLSVerify',
      );
    }
    return;
  }
  if ((service.namespace ?? '') === '') errors.required('spec.service.namespace');
  if ((service.name ?? '') === '') errors.required('spec.service.name');
  if (service.port !== undefined) {
    errors.invalidAll('spec.service.port', service.port, portNumberErrors(service.port));
  }
  if (insecureSkipTLSVerify && caBundle !== '') {
    errors.invalid('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present');
  }
}

function availableCell({ status }: APIService): string {
  const available = status?.conditions?.find(({ type }) => type === 'Available');
  if (available === undefined) return 'Unknown';
  return available.status === 'True' ? 'True' : `${available.status} (${available.reason ?? ''})`;
}

export const apiService: KindEntry = {
  strategy: kindStrategy<APIService>({
    nameErrors: pathSegmentErrors,
    unconditionalUpdate: false,
    countsGeneration: false,
    prepareForCreate(draft, { nowMs }) {
      draft.status = draft.spec?.service === undefined ? { conditions: [{ ...localCondition(nowMs) }] } : {};
    },
    validate(errors, { metadata, spec }) {
      if (spec === undefined) return errors.required('spec');
      validateName(errors, metadata?.name ?? '', spec);
      validatePriorities(errors, spec);
      validateServer(errors, spec);
      return undefined;
    },
    row: (object, { nowMs }) => {
      const { service } = object.spec ?? {};
      return [
        object.metadata?.name ?? '',
        service === undefined ? 'Local' : `${service.namespace}/${service.name}`,
        availableCell(object),
        ageOf(object, nowMs),
      ];
    },
  }),
  parts: { status: statusPart<APIService>() },
};

/** IngressClasses. Source: networking/v1. */

import type { IngressClass, IngressClassParametersReference } from '#api/gen/networking-v1.ts';
import { dns1123LabelErrors, dns1123SubdomainErrors } from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, NONE } from '../../rows.ts';
import { kindStrategy, validateImmutable } from '../kind.ts';
import { domainPathErrors, pathSegmentErrors } from '../names.ts';

const LONGEST_CONTROLLER = 250;
const PATH = 'spec.parameters';

function validateScope(errors: FieldErrors, { scope, namespace }: IngressClassParametersReference): void {
  if (scope === undefined) return errors.required(`${PATH}.scope`);
  if (scope === 'Namespace') {
    if (namespace === undefined) {
      return errors.required(`${PATH}.namespace`, "`parameters.scope` is set to 'Namespace'");
    }
    return errors.invalidAll(`${PATH}.namespace`, namespace, dns1123LabelErrors(namespace));
  }
  if (scope !== 'Cluster') return errors.unsupported(`${PATH}.scope`, scope, ['Cluster', 'Namespace']);
  if (namespace !== undefined) {
    errors.forbidden(`${PATH}.namespace`, "`parameters.scope` is set to 'Cluster'");
  }
  return undefined;
}

function validateParameters(errors: FieldErrors, ref: IngressClassParametersReference): void {
  const { apiGroup, kind, name } = ref;
  if (apiGroup !== undefined)
    errors.invalidAll(`${PATH}.apiGroup`, apiGroup, dns1123SubdomainErrors(apiGroup));
  for (const [member, text] of Object.entries({ kind, name })) {
    if (text === '') errors.required(`${PATH}.${member}`);
    else errors.invalidAll(`${PATH}.${member}`, text, pathSegmentErrors(text));
  }
  validateScope(errors, ref);
}

function parametersCell(ref: IngressClassParametersReference | undefined): string {
  if (ref === undefined) return NONE;
  const group = ref.apiGroup === undefined ? '' : `.${ref.apiGroup}`;
  return `${ref.kind}${group}/${ref.name}`;
}

export const ingressClass: KindEntry = {
  strategy: kindStrategy<IngressClass>({
    validate(errors, { spec = {} }) {
      const { controller = '', parameters } = spec;
      if (controller.length > LONGEST_CONTROLLER) {
        const detail = `must have at most ${LONGEST_CONTROLLER} characters`;
        errors.add('FieldValueTooLong', 'spec.controller', detail, controller);
      }
      if (controller === '') errors.required('spec.controller');
      else errors.invalidAll('spec.controller', controller, domainPathErrors(controller));
      if (parameters !== undefined) validateParameters(errors, parameters);
    },
    validateUpdate: (errors, { spec }, { spec: old }) =>
      validateImmutable(errors, spec?.controller, old?.controller, 'spec.controller'),
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      object.spec?.controller ?? '',
      parametersCell(object.spec?.parameters),
      ageOf(object, nowMs),
    ],
  }),
};

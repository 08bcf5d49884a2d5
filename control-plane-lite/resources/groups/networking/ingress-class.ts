/** IngressClasses. Source: networking/v1. */

import type { IngressClass, IngressClassParametersReference } from '#api/gen/networking-v1.ts';
import { dns1123LabelFaults, dns1123SubdomainFaults } from '#api/meta/names.ts';
import type { Faults } from '#api/schema/validation/faults.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, NONE } from '../../rows.ts';
import { kindStrategy, validateImmutable } from '../kind.ts';
import { domainPathFaults, pathSegmentFaults } from '../names.ts';

const LONGEST_CONTROLLER = 250;
const PATH = 'spec.parameters';

function validateScope(faults: Faults, { scope, namespace }: IngressClassParametersReference): void {
  if (scope === undefined) return faults.required(`${PATH}.scope`);
  if (scope === 'Namespace') {
    if (namespace === undefined) {
      return faults.required(`${PATH}.namespace`, "`parameters.scope` is set to 'Namespace'");
    }
    return faults.invalidAll(`${PATH}.namespace`, namespace, dns1123LabelFaults(namespace));
  }
  if (scope !== 'Cluster') return faults.unsupported(`${PATH}.scope`, scope, ['Cluster', 'Namespace']);
  if (namespace !== undefined) {
    faults.forbidden(`${PATH}.namespace`, "`parameters.scope` is set to 'Cluster'");
  }
  return undefined;
}

function validateParameters(faults: Faults, ref: IngressClassParametersReference): void {
  const { apiGroup, kind, name } = ref;
  if (apiGroup !== undefined)
    faults.invalidAll(`${PATH}.apiGroup`, apiGroup, dns1123SubdomainFaults(apiGroup));
  for (const [member, text] of Object.entries({ kind, name })) {
    if (text === '') faults.required(`${PATH}.${member}`);
    else faults.invalidAll(`${PATH}.${member}`, text, pathSegmentFaults(text));
  }
  validateScope(faults, ref);
}

function parametersCell(ref: IngressClassParametersReference | undefined): string {
  if (ref === undefined) return NONE;
  const group = ref.apiGroup === undefined ? '' : `.${ref.apiGroup}`;
  return `${ref.kind}${group}/${ref.name}`;
}

export const ingressClass: KindEntry = {
  strategy: kindStrategy<IngressClass>({
    validate(faults, { spec = {} }) {
      const { controller = '', parameters } = spec;
      if (controller.length > LONGEST_CONTROLLER) {
        const detail = `must have at most ${LONGEST_CONTROLLER} characters`;
        faults.add('FieldValueTooLong', 'spec.controller', detail, controller);
      }
      if (controller === '') faults.required('spec.controller');
      else faults.invalidAll('spec.controller', controller, domainPathFaults(controller));
      if (parameters !== undefined) validateParameters(faults, parameters);
    },
    validateUpdate: (faults, { spec }, { spec: old }) =>
      validateImmutable(faults, spec?.controller, old?.controller, 'spec.controller'),
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      object.spec?.controller ?? '',
      parametersCell(object.spec?.parameters),
      ageOf(object, nowMs),
    ],
  }),
};

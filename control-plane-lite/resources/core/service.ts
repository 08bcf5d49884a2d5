/** Services. Source: upstream's service registry and printer, release 1.24. */

import type { Service, ServicePort } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { dns1035LabelErrors } from '#api/meta/names.ts';
import { createBoundedFieldErrors } from '#api/schema/validation/field-errors.ts';
import type { ApiObject, Cell, KindEntry, PartStrategy } from '../contract.ts';
import { keepAllBut } from '../generic.ts';
import { ageOf, formatLabelCell, NONE, orNone } from '../rows.ts';
import { typed } from '../view.ts';
import type { ServiceAllocation } from './allocation/contract.ts';
import { validateAddressChange, validateServiceAddresses } from './service-addresses.ts';
import { prepareServiceForCreate, prepareServiceForUpdate } from './service-defaults.ts';
import { specOf } from './service-needs.ts';
import {
  validateClassChange,
  validateProtocols,
  validateServiceContent,
  validateServiceStatus,
} from './service-validation.ts';

const statusPart: PartStrategy = {
  prepareForUpdate: (draft, old) => keepAllBut(draft, old, 'status'),
  validateUpdate(object): readonly FieldError[] {
    const errors = createBoundedFieldErrors();
    validateServiceStatus(errors, typed<Service>(object));
    return errors.all;
  },
};

function externalIP({ spec, status }: Service): string {
  const { type, externalIPs = [], externalName = '' } = spec ?? {};
  if (type === 'ExternalName') return externalName;
  if (type !== 'LoadBalancer') return orNone(externalIPs.join(','));
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip = '', hostname = '' }) =>
    ip === '' ? hostname : ip,
  );
  const all = [...ingress.filter((text) => text !== ''), ...externalIPs];
  return all.length === 0 ? '<pending>' : all.join(',');
}

const portText = ({ port, nodePort = 0, protocol = 'TCP' }: ServicePort): string =>
  `${port}${nodePort === 0 ? '' : `:${nodePort}`}/${protocol}`;

function row(object: ApiObject, nowMs: number): readonly Cell[] {
  const spec = specOf(object);
  return [
    object.metadata.name ?? '',
    spec.type ?? '',
    spec.clusterIPs?.[0] ?? NONE,
    externalIP(typed<Service>(object)),
    orNone((spec.ports ?? []).map(portText).join(',')),
    ageOf(object, nowMs),
    formatLabelCell(spec.selector),
  ];
}

export function serviceKind(allocation: ServiceAllocation): KindEntry {
  const { families } = allocation;
  return {
    strategy: {
      nameErrors: dns1035LabelErrors,
      countsGeneration: false,
      createOnUpdate: true,
      prepareForCreate: (draft) => prepareServiceForCreate(draft, families),
      prepareForUpdate: (draft, old) => prepareServiceForUpdate(draft, old, families),
      validate: (object, { vocabulary, gates }, old) => {
        const errors = createBoundedFieldErrors();
        validateProtocols(errors, specOf(object), old === undefined ? {} : specOf(old), gates);
        validateServiceContent(errors, typed<Service>(object), vocabulary);
        validateServiceAddresses(errors, specOf(object), families);
        return errors.all;
      },
      validateUpdate: (object, old) => {
        const errors = createBoundedFieldErrors();
        validateAddressChange(errors, specOf(object), specOf(old));
        validateClassChange(errors, specOf(object), specOf(old));
        return errors.all;
      },
      reserve: (draft, old, context) => allocation.reserve(draft, old, context),
      settle: (object, old) => allocation.settle(object, old),
      release: (object) => allocation.release(object),
      selectableFields: {
        'spec.clusterIP': (object) => specOf(object).clusterIP ?? '',
        'spec.type': (object) => specOf(object).type ?? '',
      },
      row: (object, { nowMs }) => row(object, nowMs),
    },
    parts: { status: statusPart },
  };
}

/** PriorityLevelConfigurations: concurrency of a priority level, and its queues. Source:
 *  flowcontrol/v1beta2. */

import type {
  LimitedPriorityLevelConfiguration,
  PriorityLevelConfiguration,
  QueuingConfiguration,
} from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, NONE } from '../../rows.ts';
import { kindStrategy, statusPart } from '../kind.ts';
import { validateFlowConditions } from './conditions.ts';

const TYPES = ['Exempt', 'Limited'];
const RESPONSES = ['Queue', 'Reject'];
const EXEMPT = 'exempt';
const MAX_QUEUES = 10_000_000;
/** A hand of queues is drawn by a hash of so many bits. */
const MAX_HAND_BITS = 60;
const PATH = 'spec.limited';

/** Bits required to identify a hand of queues. */
function handBits(queues: number, handSize: number): number {
  let bits = 0;
  for (let drawn = 0; drawn < handSize; drawn += 1) bits += Math.log2(queues - drawn);
  return Math.ceil(bits);
}

function validateQueuing(errors: FieldErrors, queuing: QueuingConfiguration): void {
  const { queues = 0, handSize = 0, queueLengthLimit = 0 } = queuing;
  const path = `${PATH}.limitResponse.queuing`;
  errors.positive(`${path}.queueLengthLimit`, queueLengthLimit);
  errors.positive(`${path}.queues`, queues);
  errors.positive(`${path}.handSize`, handSize);
  if (queues > MAX_QUEUES) errors.invalid(`${path}.queues`, queues, `must not be greater than ${MAX_QUEUES}`);
  else if (handSize > queues) {
    errors.invalid(`${path}.handSize`, handSize, `should not be greater than queues (${queues})`);
  } else if (handSize > 0 && handBits(queues, handSize) > MAX_HAND_BITS) {
    const detail = `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${MAX_HAND_BITS}`;
    errors.invalid(`${path}.handSize`, handSize, detail);
  }
}

function validateLimited(errors: FieldErrors, limited: LimitedPriorityLevelConfiguration): void {
  const { assuredConcurrencyShares = 0, limitResponse } = limited;
  if (assuredConcurrencyShares <= 0) {
    errors.invalid(`${PATH}.assuredConcurrencyShares`, assuredConcurrencyShares, 'must be positive');
  }
  const { type = '', queuing } = limitResponse ?? {};
  const path = `${PATH}.limitResponse`;
  if (!RESPONSES.includes(type)) errors.unsupported(`${path}.type`, type, RESPONSES);
  if (type === 'Reject' && queuing !== undefined) {
    errors.forbidden(`${path}.queuing`, "must be nil if limited.limitResponse.type is not 'Queue'");
  } else if (type === 'Queue' && queuing === undefined) {
    errors.required(`${path}.queuing`, "must not be empty if limited.limitResponse.type is 'Queue'");
  } else if (queuing !== undefined) validateQueuing(errors, queuing);
}

export const priorityLevelConfiguration: KindEntry = {
  strategy: kindStrategy<PriorityLevelConfiguration>({
    validate(errors, { metadata, spec }) {
      if (spec === undefined) return errors.required('spec');
      const { type, limited } = spec;
      if ((metadata?.name === EXEMPT) !== (type === 'Exempt')) {
        errors.invalid('spec.type', type, `type must be 'Exempt' if and only if name is '${EXEMPT}'`);
      }
      if (!TYPES.includes(type)) errors.unsupported('spec.type', type, TYPES);
      else if (type === 'Exempt' && limited !== undefined) {
        errors.forbidden(PATH, "must be nil if the type is not 'Limited'");
      } else if (type === 'Limited' && limited === undefined) {
        errors.required(PATH, "must not be empty when type is 'Limited'");
      } else if (limited !== undefined) validateLimited(errors, limited);
      return undefined;
    },
    row: (object, { nowMs }) => {
      const { type = '', limited } = object.spec ?? {};
      const queuing = limited?.limitResponse?.queuing;
      const cell = (value: number | undefined): string => (value === undefined ? NONE : String(value));
      return [
        object.metadata?.name ?? '',
        type,
        cell(limited?.assuredConcurrencyShares),
        cell(queuing?.queues),
        cell(queuing?.handSize),
        cell(queuing?.queueLengthLimit),
        ageOf(object, nowMs),
      ];
    },
  }),
  parts: {
    status: statusPart<PriorityLevelConfiguration>({
      validate: (errors, { status }) => validateFlowConditions(errors, status?.conditions ?? []),
    }),
  },
};

/** PriorityLevelConfigurations: concurrency of a priority level, and its queues. Source:
 *  flowcontrol/v1beta2. */

import type {
  LimitedPriorityLevelConfiguration,
  PriorityLevelConfiguration,
  QueuingConfiguration,
} from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import type { Faults } from '#api/schema/validation/faults.ts';
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

function validateQueuing(faults: Faults, queuing: QueuingConfiguration): void {
  const { queues = 0, handSize = 0, queueLengthLimit = 0 } = queuing;
  const path = `${PATH}.limitResponse.queuing`;
  faults.positive(`${path}.queueLengthLimit`, queueLengthLimit);
  faults.positive(`${path}.queues`, queues);
  faults.positive(`${path}.handSize`, handSize);
  if (queues > MAX_QUEUES) faults.invalid(`${path}.queues`, queues, `must not be greater than ${MAX_QUEUES}`);
  else if (handSize > queues) {
    faults.invalid(`${path}.handSize`, handSize, `should not be greater than queues (${queues})`);
  } else if (handSize > 0 && handBits(queues, handSize) > MAX_HAND_BITS) {
    const detail = `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${MAX_HAND_BITS}`;
    faults.invalid(`${path}.handSize`, handSize, detail);
  }
}

function validateLimited(faults: Faults, limited: LimitedPriorityLevelConfiguration): void {
  const { assuredConcurrencyShares = 0, limitResponse } = limited;
  if (assuredConcurrencyShares <= 0) {
    faults.invalid(`${PATH}.assuredConcurrencyShares`, assuredConcurrencyShares, 'must be positive');
  }
  const { type = '', queuing } = limitResponse ?? {};
  const path = `${PATH}.limitResponse`;
  if (!RESPONSES.includes(type)) faults.unsupported(`${path}.type`, type, RESPONSES);
  if (type === 'Reject' && queuing !== undefined) {
    faults.forbidden(`${path}.queuing`, "must be nil if limited.limitResponse.type is not 'Queue'");
  } else if (type === 'Queue' && queuing === undefined) {
    faults.required(`${path}.queuing`, "must not be empty if limited.limitResponse.type is 'Queue'");
  } else if (queuing !== undefined) validateQueuing(faults, queuing);
}

export const priorityLevelConfiguration: KindEntry = {
  strategy: kindStrategy<PriorityLevelConfiguration>({
    validate(faults, { metadata, spec }) {
      if (spec === undefined) return faults.required('spec');
      const { type, limited } = spec;
      if ((metadata?.name === EXEMPT) !== (type === 'Exempt')) {
        faults.invalid('spec.type', type, `type must be 'Exempt' if and only if name is '${EXEMPT}'`);
      }
      if (!TYPES.includes(type)) faults.unsupported('spec.type', type, TYPES);
      else if (type === 'Exempt' && limited !== undefined) {
        faults.forbidden(PATH, "must be nil if the type is not 'Limited'");
      } else if (type === 'Limited' && limited === undefined) {
        faults.required(PATH, "must not be empty when type is 'Limited'");
      } else if (limited !== undefined) validateLimited(faults, limited);
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
      validate: (faults, { status }) => validateFlowConditions(faults, status?.conditions ?? []),
    }),
  },
};

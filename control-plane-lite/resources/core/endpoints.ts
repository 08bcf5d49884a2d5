/** Endpoints. Source: upstream's endpoints strategy and printer, release 1.24. */

import type { Endpoints } from '#api/gen/core-v1.ts';
import { validateEndpointsContent } from '#api/schema/validation/endpoints.ts';
import type { KindEntry } from '../contract.ts';
import { ageOf, orNone } from '../rows.ts';
import { typed } from '../view.ts';

const SHOWN = 3;

const withPort = (ip: string, port: number): string =>
  ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;

/** Formats the first three endpoints and the number of further ones. */
function summary({ subsets = [] }: Endpoints): string {
  const shown: string[] = [];
  let count = 0;
  for (const { addresses = [], ports = [] } of subsets) {
    const numbers = ports.length === 0 ? [undefined] : ports.map(({ port }) => port);
    for (const port of numbers) {
      count += addresses.length;
      for (const { ip } of addresses.slice(0, SHOWN - shown.length)) {
        shown.push(port === undefined ? ip : withPort(ip, port));
      }
    }
  }
  const text = orNone(shown.join(','));
  return count > SHOWN ? `${text} + ${count - SHOWN} more...` : text;
}

export const endpointsKind: KindEntry = {
  strategy: {
    createOnUpdate: true,
    validate: (object) => validateEndpointsContent(typed<Endpoints>(object)),
    row: (object, { nowMs }) => [
      object.metadata.name ?? '',
      summary(typed<Endpoints>(object)),
      ageOf(object, nowMs),
    ],
  },
};

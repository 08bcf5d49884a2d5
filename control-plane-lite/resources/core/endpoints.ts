/** Endpoints. Source: upstream's endpoints strategy and printer, release 1.24. */
import type { FieldError } from '#api/meta/field-error.ts';
import { nonSpecialIpFaults } from '#api/meta/ip.ts';
import {
  dns1123LabelFaults,
  dns1123SubdomainFaults,
  portNumberFaults,
  qualifiedNameFaults,
} from '#api/meta/names.ts';
import type { EndpointAddress, EndpointPort, Endpoints } from '#api/schema/gen/core-v1.ts';
import { createFaults, type Faults } from '#api/schema/validation/faults.ts';
import type { ApiObject, KindEntry } from '../contract.ts';
import { ageOf, orNone } from '../rows.ts';
import { typed } from '../view.ts';

function validateAddress(faults: Faults, address: EndpointAddress, path: string): void {
  const { ip, hostname = '', nodeName } = address;
  faults.invalidAll(`${path}.ip`, ip, nonSpecialIpFaults(ip));
  if (hostname !== '') faults.invalidAll(`${path}.hostname`, hostname, dns1123LabelFaults(hostname));
  if (nodeName !== undefined) {
    faults.invalidAll(`${path}.nodeName`, nodeName, dns1123SubdomainFaults(nodeName));
  }
}

function validatePort(faults: Faults, endpointPort: EndpointPort, needsName: boolean, path: string): void {
  const { name = '', port, protocol = '', appProtocol } = endpointPort;
  if (name !== '') faults.invalidAll(`${path}.name`, name, dns1123LabelFaults(name));
  else if (needsName) faults.required(`${path}.name`);
  faults.invalidAll(`${path}.port`, port, portNumberFaults(port));
  if (protocol === '') faults.required(`${path}.protocol`);
  if (appProtocol !== undefined) {
    faults.invalidAll(`${path}.appProtocol`, appProtocol, qualifiedNameFaults(appProtocol));
  }
}

function validate(object: ApiObject): readonly FieldError[] {
  const faults = createFaults();
  for (const [index, subset] of (typed<Endpoints>(object).subsets ?? []).entries()) {
    const path = `subsets[${index}]`;
    const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
    if (addresses.length === 0 && notReadyAddresses.length === 0) {
      faults.required(path, 'must specify `addresses` or `notReadyAddresses`');
    }
    for (const [at, address] of addresses.entries())
      validateAddress(faults, address, `${path}.addresses[${at}]`);
    for (const [at, address] of notReadyAddresses.entries()) {
      validateAddress(faults, address, `${path}.notReadyAddresses[${at}]`);
    }
    for (const [at, port] of ports.entries()) {
      validatePort(faults, port, ports.length > 1, `${path}.ports[${at}]`);
    }
  }
  return faults.errors;
}

const SHOWN = 3;

const withPort = (ip: string, port: number): string =>
  ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;

/** The first three endpoints, and how many more there are. */
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
    validate,
    row: (object, { nowMs }) => [
      object.metadata.name ?? '',
      summary(typed<Endpoints>(object)),
      ageOf(object, nowMs),
    ],
  },
};

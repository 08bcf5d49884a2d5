/** Validation of Endpoints. Source: upstream's endpoints validation, release 1.24. */

import type { EndpointAddress, EndpointPort, Endpoints } from '../../gen/core-v1.ts';
import type { FieldError } from '../../meta/field-error.ts';
import { nonSpecialIpFaults } from '../../meta/ip.ts';
import {
  dns1123LabelFaults,
  dns1123SubdomainFaults,
  portNumberFaults,
  qualifiedNameFaults,
} from '../../meta/names.ts';
import { createBoundedFaults, type Faults } from './faults.ts';
import { validateMetadata } from './metadata.ts';

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

/** Validates everything but the metadata. */
export function validateEndpointsContent(endpoints: Endpoints): readonly FieldError[] {
  const faults = createBoundedFaults();
  for (const [index, subset] of (endpoints.subsets ?? []).entries()) {
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

export function validateEndpoints(endpoints: Endpoints): readonly FieldError[] {
  return [
    ...validateMetadata(endpoints.metadata, { namespaced: true }),
    ...validateEndpointsContent(endpoints),
  ];
}

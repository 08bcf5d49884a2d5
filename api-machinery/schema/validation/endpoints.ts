/** Validation of Endpoints. Source: upstream's endpoints validation, release 1.24. */

import type { EndpointAddress, EndpointPort, Endpoints } from '../../gen/core-v1.ts';
import type { FieldError } from '../../meta/field-error.ts';
import { nonSpecialIpErrors } from '../../meta/ip.ts';
import {
  dns1123LabelErrors,
  dns1123SubdomainErrors,
  portNumberErrors,
  qualifiedNameErrors,
} from '../../meta/names.ts';
import { createBoundedFieldErrors, type FieldErrors } from './field-errors.ts';
import { validateMetadata } from './metadata.ts';

function validateAddress(errors: FieldErrors, address: EndpointAddress, list: string, index: number): void {
  const { ip, hostname = '', nodeName } = address;
  const reasons = nonSpecialIpErrors(ip);
  // Without an error there is no path: an object may have ninety thousand addresses.
  if (reasons.length === 0 && hostname === '' && nodeName === undefined) return;
  const path = `${list}[${index}]`;
  errors.invalidAll(`${path}.ip`, ip, reasons);
  if (hostname !== '') errors.invalidAll(`${path}.hostname`, hostname, dns1123LabelErrors(hostname));
  if (nodeName !== undefined) {
    errors.invalidAll(`${path}.nodeName`, nodeName, dns1123SubdomainErrors(nodeName));
  }
}

function validatePort(
  errors: FieldErrors,
  endpointPort: EndpointPort,
  needsName: boolean,
  path: string,
): void {
  const { name = '', port, protocol = '', appProtocol } = endpointPort;
  if (name !== '') errors.invalidAll(`${path}.name`, name, dns1123LabelErrors(name));
  else if (needsName) errors.required(`${path}.name`);
  errors.invalidAll(`${path}.port`, port, portNumberErrors(port));
  if (protocol === '') errors.required(`${path}.protocol`);
  if (appProtocol !== undefined) {
    errors.invalidAll(`${path}.appProtocol`, appProtocol, qualifiedNameErrors(appProtocol));
  }
}

/** Validates everything but the metadata. */
export function validateEndpointsContent(endpoints: Endpoints): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  for (const [index, subset] of (endpoints.subsets ?? []).entries()) {
    const path = `subsets[${index}]`;
    const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
    if (addresses.length === 0 && notReadyAddresses.length === 0) {
      errors.required(path, 'must specify `addresses` or `notReadyAddresses`');
    }
    for (const [at, address] of addresses.entries())
      validateAddress(errors, address, `${path}.addresses`, at);
    for (const [at, address] of notReadyAddresses.entries()) {
      validateAddress(errors, address, `${path}.notReadyAddresses`, at);
    }
    for (const [at, port] of ports.entries()) {
      validatePort(errors, port, ports.length > 1, `${path}.ports[${at}]`);
    }
  }
  return errors.all;
}

export function validateEndpoints(endpoints: Endpoints): readonly FieldError[] {
  return [
    ...validateMetadata(endpoints.metadata, { namespaced: true }),
    ...validateEndpointsContent(endpoints),
  ];
}

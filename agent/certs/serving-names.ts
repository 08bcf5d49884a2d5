/** Names in the serving certificate: the addresses that the node reports, and its own name until it reports
 *  any.
 *  Source: upstream's `addressesToHostnamesAndIPs`, release 1.24. */
import { isIP } from 'node:net';
import type { NodeAddress } from '#api/gen/core-v1.ts';
import { dns1123SubdomainErrors } from '#api/meta/names.ts';
import type { ServingNames } from './tls-source.ts';

/** Returns the names in addresses of a node, in an order that does not depend on theirs. Skips anything that
 *  is not a host name or IP address: other clients can write to the node status too. */
export function namesOfAddresses(addresses: readonly NodeAddress[]): ServingNames {
  const all = [...new Set(addresses.map(({ address }) => address))].toSorted((left, right) =>
    left < right ? -1 : 1,
  );
  return {
    dnsNames: all.filter((name) => isIP(name) === 0 && dns1123SubdomainErrors(name).length === 0),
    ipAddresses: all.filter((address) => isIP(address) !== 0),
  };
}

const isNameless = ({ dnsNames, ipAddresses }: ServingNames): boolean =>
  dnsNames.length + ipAddresses.length === 0;

const sameNames = (left: ServingNames, right: ServingNames): boolean =>
  left.dnsNames.join() === right.dnsNames.join() && left.ipAddresses.join() === right.ipAddresses.join();

export interface NodeAddresses {
  /** As last reported by the node; empty without a node. */
  current(): readonly NodeAddress[];
  /** Calls the listener when the addresses may have changed. Returns a function that ends the subscription. */
  onChange(listener: () => void): () => void;
}

export interface ServingNamesSource {
  current(): ServingNames;
  /** Calls the listener when the names change. Returns a function that ends the subscription. */
  onChange(listener: () => void): () => void;
}

/** @param own name of the node until it reports addresses */
export function createServingNames(addresses: NodeAddresses, own: ServingNames): ServingNamesSource {
  let known = own;
  /** Without a node, or before it reports anything, the names stay as before. */
  function check(): boolean {
    const found = namesOfAddresses(addresses.current());
    if (isNameless(found) || sameNames(found, known)) return false;
    known = found;
    return true;
  }
  return {
    current() {
      check();
      return known;
    },
    onChange(listener) {
      let reported = known;
      return addresses.onChange(() => {
        check();
        if (known === reported) return;
        reported = known;
        listener();
      });
    },
  };
}

/** What the node's server is called: by the addresses that the node tells of itself, and by its own name as long as it
 *  tells none. Source: upstream's `addressesToHostnamesAndIPs`, release 1.24. */
import { isIP } from 'node:net';
import { dns1123SubdomainFaults } from '#api/meta/names.ts';
import type { NodeAddress } from '#api/schema/gen/core-v1.ts';
import type { ServingNames } from './tls-source.ts';

/** The names in addresses of a node, in an order that does not depend on theirs. What is neither a name nor an address
 *  of a host is left out: others write to a node's status too. */
export function namesOfAddresses(addresses: readonly NodeAddress[]): ServingNames {
  const all = [...new Set(addresses.map(({ address }) => address))].toSorted((left, right) =>
    left < right ? -1 : 1,
  );
  return {
    dnsNames: all.filter((name) => isIP(name) === 0 && dns1123SubdomainFaults(name).length === 0),
    ipAddresses: all.filter((address) => isIP(address) !== 0),
  };
}

const isNameless = ({ dnsNames, ipAddresses }: ServingNames): boolean =>
  dnsNames.length + ipAddresses.length === 0;

const sameNames = (left: ServingNames, right: ServingNames): boolean =>
  left.dnsNames.join() === right.dnsNames.join() && left.ipAddresses.join() === right.ipAddresses.join();

export interface NodeAddresses {
  /** As the node last told; none while there is no node. */
  current(): readonly NodeAddress[];
  /** Calls the listener when they may be others. Returns the function that ends this. */
  onChange(listener: () => void): () => void;
}

export interface ServingNamesSource {
  current(): ServingNames;
  /** Calls the listener when they are others. Returns the function that ends this. */
  onChange(listener: () => void): () => void;
}

/** @param own by which the node is called while it tells no addresses */
export function createServingNames(addresses: NodeAddresses, own: ServingNames): ServingNamesSource {
  let known = own;
  /** A node that is gone, or has not told anything yet, is called as before. */
  function look(): boolean {
    const found = namesOfAddresses(addresses.current());
    if (isNameless(found) || sameNames(found, known)) return false;
    known = found;
    return true;
  }
  return {
    current() {
      look();
      return known;
    },
    onChange(listener) {
      let told = known;
      return addresses.onChange(() => {
        look();
        if (known === told) return;
        told = known;
        listener();
      });
    },
  };
}

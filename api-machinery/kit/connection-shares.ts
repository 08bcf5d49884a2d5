/** Decides who has to leave when many connections share a port. Clients that have shown who they are stay; of the
 *  others the oldest has to leave when there is no room, so that connections that only wait shut nobody out, not even
 *  those who come from the same address. No address has all of the port. Never closes anything and knows no sockets. */

export interface ShareOptions {
  /** Connections of the port. */
  readonly most: number;
  /** Connections of one address. Default: three quarters of the port's. */
  readonly mostPerAddress?: number;
}

export interface ConnectionShares {
  /** A connection came. Returns the one that has to leave, which may be this one, or `undefined`. */
  arrive(connection: string, address: string): string | undefined;
  /** Its client has shown who it is. */
  prove(connection: string): void;
  leave(connection: string): void;
  readonly size: number;
}

interface Address {
  readonly name: string;
  readonly proven: Set<string>;
  /** Oldest first. */
  readonly unproven: Set<string>;
}

const sizeOf = ({ proven, unproven }: Address): number => proven.size + unproven.size;

export function createConnectionShares({ most, mostPerAddress }: ShareOptions): ConnectionShares {
  const share = mostPerAddress ?? Math.max(1, Math.floor((most * 3) / 4));
  const addresses = new Map<string, Address>();
  const connections = new Map<string, Address>();

  /** The address with most clients that have not shown who they are. */
  function fullest(): Address | undefined {
    let found: Address | undefined;
    for (const address of addresses.values()) {
      if (address.unproven.size > (found?.unproven.size ?? 0)) found = address;
    }
    return found;
  }

  function forget(connection: string): void {
    const address = connections.get(connection);
    if (address === undefined) return;
    connections.delete(connection);
    address.proven.delete(connection);
    address.unproven.delete(connection);
    if (sizeOf(address) === 0) addresses.delete(address.name);
  }

  return {
    arrive(connection, name) {
      const isFull = connections.size >= most;
      const own = addresses.get(name);
      const crowded = own !== undefined && sizeOf(own) >= share ? own : isFull ? fullest() : undefined;
      const [oldest] = crowded?.unproven ?? [];
      if ((isFull || crowded !== undefined) && oldest === undefined) return connection;
      if (oldest !== undefined) forget(oldest);
      const address = addresses.get(name) ?? { name, proven: new Set(), unproven: new Set() };
      addresses.set(name, address);
      connections.set(connection, address);
      address.unproven.add(connection);
      return oldest;
    },
    prove(connection) {
      const address = connections.get(connection);
      if (address?.unproven.delete(connection) === true) address.proven.add(connection);
    },
    leave: forget,
    get size() {
      return connections.size;
    },
  };
}

/** What counts as one client: an address of IPv4, or the network of an address of IPv6, of which a client has as many
 *  as it likes. */
export function clientNetwork(address: string): string {
  const [plain = ''] = address.split('%');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain);
  if (mapped !== null) return mapped[1] ?? '';
  if (!plain.includes(':')) return plain;
  const [before = '', after] = plain.split('::');
  const words = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [head, tail] = [words(before), words(after ?? '')];
  const zeros = after === undefined ? 0 : Math.max(0, 8 - head.length - tail.length);
  const all = [...head, ...Array.from({ length: zeros }, () => '0'), ...tail];
  const network = all.slice(0, 4).map((word) => Number.parseInt(word, 16).toString(16));
  return `${network.join(':')}::/64`;
}

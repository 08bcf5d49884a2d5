/** Client of systemd's manager over its private socket, as systemctl uses it: requires no bus, and root.
 *  @see org.freedesktop.systemd1(5) */
import { connectDBus, type DBusConnection } from '../../dbus/connection.ts';
import type { DBusCall, DBusValue, DBusVariant } from '../../dbus/message.ts';

const MANAGER_SOCKET = '/run/systemd/private';

/** A property of a unit: a 64-bit number, a boolean or a string. */
export type UnitProperty = readonly [name: string, value: bigint | boolean | string];

export interface ManagerCall {
  readonly member: 'StartTransientUnit' | 'SetUnitProperties' | 'StopUnit';
  readonly unit: string;
  readonly properties?: readonly UnitProperty[];
}

export interface SystemdManager {
  /** @throws DBusError */
  call(call: ManagerCall): Promise<void>;
  close(): void;
}

const MANAGER = {
  destination: 'org.freedesktop.systemd1',
  path: '/org/freedesktop/systemd1',
  interface: 'org.freedesktop.systemd1.Manager',
};
const MODE = 'replace';
/** Until the next boot. */
const RUNTIME = true;

function variant(value: bigint | boolean | string): DBusVariant {
  if (typeof value === 'bigint') return { type: 't', value };
  return { type: typeof value === 'boolean' ? 'b' : 's', value };
}

/** Encodes the call. Pure. */
export function managerCall({ member, unit, properties = [] }: ManagerCall): DBusCall {
  const values: DBusValue = properties.map(([name, value]) => [name, variant(value)]);
  switch (member) {
    case 'StartTransientUnit':
      return { ...MANAGER, member, signature: 'ssa(sv)a(sa(sv))', body: [unit, MODE, values, []] };
    case 'SetUnitProperties':
      return { ...MANAGER, member, signature: 'sba(sv)', body: [unit, RUNTIME, values] };
    case 'StopUnit':
      return { ...MANAGER, member, signature: 'ss', body: [unit, MODE] };
    default:
      return member satisfies never;
  }
}

/** Connects at the first call, and again after a disconnect. */
export function createSystemdManager(path: string = MANAGER_SOCKET): SystemdManager {
  let connection: Promise<DBusConnection> | undefined;

  function connected(): Promise<DBusConnection> {
    if (connection !== undefined) return connection;
    const opening = connectDBus(path);
    connection = opening;
    const forget = (): void => {
      if (connection === opening) connection = undefined;
    };
    opening.then(({ closed }) => closed.then(forget), forget);
    return opening;
  }

  return {
    call: async (call) => void (await (await connected()).call(managerCall(call))),
    close: () => {
      connection?.then(
        (one) => one.close(),
        () => undefined,
      );
    },
  };
}

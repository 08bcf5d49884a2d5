/** systemd's manager itself, spoken to as its own tools do: it needs no bus, and is root's alone.
 *  @see org.freedesktop.systemd1(5) */
import { connectDBus, type DBusConnection } from '../../dbus/connection.ts';
import type { DBusCall, DBusValue, DBusVariant } from '../../dbus/message.ts';

export const MANAGER_SOCKET = '/run/systemd/private';

/** A property of a unit: a number of 64 bits, a truth value or a text. */
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
/** For as long as the machine runs. */
const RUNTIME = true;

function variant(value: bigint | boolean | string): DBusVariant {
  if (typeof value === 'bigint') return { type: 't', value };
  return { type: typeof value === 'boolean' ? 'b' : 's', value };
}

/** The call as systemd wants it. Pure. */
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

/** Connects at the first call, and again after the connection has ended. */
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

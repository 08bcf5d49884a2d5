/** Safe assignment of members whose names come from outside the program. */

/** Sets a member of any name. Plain assignment of `__proto__` would change the prototype instead; and a name
 *  with a backslash must not become part of a shape that objects share (see `json-text.ts`). */
export function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
    return;
  }
  if (name.includes('\\')) leaveShape(object);
  object[name] = value;
}

/** Makes V8 store the object's members in a hash table of its own, as it does once a member other than the
 *  last is deleted. */
function leaveShape(object: Record<string, unknown>): void {
  object['\0a'] = 0;
  object['\0b'] = 0;
  delete object['\0a'];
  delete object['\0b'];
}

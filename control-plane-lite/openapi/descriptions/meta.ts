/** Descriptions of types that all kinds share. Data. */
import type { Texts } from './texts.ts';

export const META_TEXTS: Texts = {
  'meta/v1.ObjectMeta': {
    is: 'Facts that every object has.',
    members: {
      name: 'Name, unlike that of any other object of the kind in its namespace. Cannot be changed.',
      generateName: 'Beginning of the name that the server makes up if none is given.',
      namespace: 'Namespace of the object. Cannot be changed.',
      selfLink: 'No longer set.',
      uid: 'Tells this object from all others of any time. Set by the server.',
      resourceVersion: 'Version of the object, to be compared for equality only. Set by the server.',
      generation: 'Counts the changes of what is wanted. Set by the server.',
      // Upstream's begins so: tools and tests look for it.
      creationTimestamp: 'CreationTimestamp is a timestamp of when the object was made. Set by the server.',
      deletionTimestamp: 'When the object is to be gone. Set by the server when it is deleted.',
      deletionGracePeriodSeconds: 'Seconds that a deleted object has to end. Set by the server.',
      labels: 'Names and values by which objects are selected.',
      annotations: 'Names and values for tools, which nobody selects by.',
      ownerReferences: 'Objects without any of which this one is collected as garbage.',
      finalizers: 'Names of those who have work to do before the object may go.',
      clusterName: 'No longer set.',
      managedFields: 'Who set which fields, as server-side apply counts it.',
    },
  },
  'meta/v1.ListMeta': {
    is: 'Facts about a list.',
    members: {
      selfLink: 'No longer set.',
      resourceVersion: 'Version at which the list was made; watches can begin here.',
      continue: 'Token of the next page. Empty: this is the last one.',
      remainingItemCount: 'How many objects are not in this page, where that is known.',
    },
  },
  'meta/v1.OwnerReference': {
    is: 'An object that another one depends on.',
    members: {
      apiVersion: 'Group and version of the owner.',
      kind: 'Kind of the owner.',
      name: 'Name of the owner.',
      uid: 'UID of the owner.',
      controller: 'This owner is the one that controls the object. At most one is.',
      blockOwnerDeletion: 'The owner is not gone before the object is, if it is deleted in the foreground.',
    },
  },
  'meta/v1.LabelSelector': {
    is: 'Which labels objects must have: all of what it says. An empty one takes every object.',
    members: { matchLabels: 'Names and values that must be there.', matchExpressions: 'Further conditions.' },
  },
  'meta/v1.LabelSelectorRequirement': {
    is: 'One condition on a label.',
    members: {
      key: 'Name of the label.',
      operator: 'In, NotIn, Exists or DoesNotExist.',
      values: 'Values for In and NotIn.',
    },
  },
  'meta/v1.Condition': { is: 'Whether something is so, since when and why.' },
  'meta/v1.Status': {
    is: 'How a request ended that answers with no object.',
    members: {
      status: 'Success or Failure.',
      message: 'What happened, for people.',
      reason: 'What happened, in one word.',
      details: 'What it happened to, and why.',
      code: 'HTTP status.',
    },
  },
  'meta/v1.StatusDetails': {
    is: 'What a failure is about.',
    members: {
      name: 'Name of the object.',
      group: 'Group of the object.',
      kind: 'Kind or resource of the object.',
      uid: 'UID of the object.',
      causes: 'Every fault that was found.',
      retryAfterSeconds: 'Seconds after which the request may succeed.',
    },
  },
  'meta/v1.StatusCause': {
    is: 'One fault.',
    members: {
      reason: 'The kind of fault, in one word.',
      message: 'The fault, for people.',
      field: 'Path of the field at fault.',
    },
  },
  'meta/v1.DeleteOptions': {
    is: 'How something is deleted.',
    members: {
      gracePeriodSeconds: 'Seconds until the object is gone; 0 is at once. Default: what the kind has.',
      preconditions: 'What must be so for the object to be deleted.',
      orphanDependents: 'Old form of propagationPolicy.',
      propagationPolicy: 'What becomes of dependents: Orphan, Background or Foreground.',
      dryRun: 'With All, everything is checked and nothing is deleted.',
    },
  },
  'meta/v1.Preconditions': {
    is: 'What must be so for something to be done.',
    members: { uid: 'UID that the object must have.', resourceVersion: 'Version that the object must have.' },
  },
  'meta/v1.ManagedFieldsEntry': {
    is: 'Fields that one manager set in one way.',
    members: {
      manager: 'Who set them.',
      operation: 'Apply or Update.',
      apiVersion: 'Version of the API in which they were set.',
      time: 'When they were last changed.',
      fieldsType: 'Form of fieldsV1; always FieldsV1.',
      fieldsV1: 'The fields.',
      subresource: 'Subresource through which they were set.',
    },
  },
  'meta/v1.FieldsV1': { is: 'A set of fields, as a tree of their names.' },
  'meta/v1.Time': { is: 'A time in RFC 3339, to the second.' },
  'meta/v1.MicroTime': { is: 'A time in RFC 3339, to the microsecond.' },
  'meta/v1.Duration': { is: 'A span of time, such as 1h30m or 100ms.' },
  'resource.Quantity': {
    is: 'An amount with an optional unit: 500m, 1.5, 10Ki, 2G. Binary units end in i.',
  },
  'intstr.IntOrString': { is: 'A number or a text, such as 80, http or 25%.' },
  'runtime.RawExtension': { is: 'An object of any kind.' },
};

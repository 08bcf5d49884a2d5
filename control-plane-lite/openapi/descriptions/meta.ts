/** Descriptions of types that all kinds share. Data. */
import type { Texts } from './texts.ts';

export const META_TEXTS: Texts = {
  'meta/v1.ObjectMeta': {
    is: 'Metadata that every persisted object has.',
    members: {
      name: 'Name of the object, unique among the objects of the same kind in the namespace. Required, unless generateName is set. Cannot be changed.',
      generateName:
        'Prefix of a generated name. If name is empty, the server appends a random suffix to this prefix.',
      namespace:
        'Namespace of the object. Empty for cluster-scoped kinds; the namespace of the request path otherwise. Cannot be changed.',
      selfLink: 'Deprecated. The server does not set this field.',
      uid: 'Identifier of the object, unique in time and space. Set by the server on creation.',
      resourceVersion:
        'Opaque version of the stored object, for optimistic concurrency and watches. Compare it for equality only. Set by the server.',
      generation:
        'Sequence number of the desired state. The server increments it with every change of the desired state.',
      // Upstream's text has the same beginning: tools and tests look for it.
      creationTimestamp:
        'CreationTimestamp is a timestamp of the creation of the object, in RFC 3339 and UTC. Set by the server.',
      deletionTimestamp:
        'Time after which the object is removed, once its finalizers are empty. Set by the server when a graceful deletion is requested; cannot be unset.',
      deletionGracePeriodSeconds:
        'Seconds between the deletion request and the removal of the object. Set together with deletionTimestamp; can only be shortened.',
      labels: 'Keys and values that selectors match.',
      annotations: 'Keys and values for tools. They are not queryable, and values have no fixed form.',
      ownerReferences:
        'Objects that this object depends on. The garbage collector deletes the object after all its owners have been deleted. At most one owner is the controller.',
      finalizers:
        'Identifiers of components that must act before the object is removed. A deleted object remains until the list is empty. Entries can only be removed once deletion has begun.',
      clusterName: 'Deprecated. The server always clears this field.',
      managedFields:
        'Fields and their managers, recorded for server-side apply. Maintained by the server; an empty list of one empty entry resets it.',
    },
  },
  'meta/v1.ListMeta': {
    is: 'Metadata of a list.',
    members: {
      selfLink: 'Deprecated. The server does not set this field.',
      resourceVersion: 'Version of the list. A watch that starts here misses no change.',
      continue:
        'Token for the next page of the same list. Empty on the last page. Tokens expire, after which the server responds with 410.',
      remainingItemCount:
        'Number of items after this page. Absent if the number is unknown, as with label or field selectors.',
    },
  },
  'meta/v1.OwnerReference': {
    is: 'Reference to an owner, in the same namespace or cluster-scoped.',
    members: {
      apiVersion: 'Group and version of the owner.',
      kind: 'Kind of the owner.',
      name: 'Name of the owner.',
      uid: 'UID of the owner.',
      controller: 'True if this owner is the managing controller of the object.',
      blockOwnerDeletion:
        'If true, foreground deletion of the owner waits until this object has been removed. Defaults to false.',
    },
  },
  'meta/v1.LabelSelector': {
    is: 'Query over labels. All requirements must hold. An empty selector matches every object; the field that holds the selector defines the effect of an absent one.',
    members: {
      matchLabels: 'Label keys with their required values.',
      matchExpressions: 'Requirements on label keys, in addition to matchLabels.',
    },
  },
  'meta/v1.LabelSelectorRequirement': {
    is: 'Requirement on one label key.',
    members: {
      key: 'Label key.',
      operator: 'Relation of the key to the values: In, NotIn, Exists or DoesNotExist.',
      values: 'Values to compare with. Required for In and NotIn; must be empty for Exists and DoesNotExist.',
    },
  },
  'meta/v1.Condition': { is: 'One aspect of the current state of an object.' },
  'meta/v1.Status': {
    is: 'Result of a request that returns no other object.',
    members: {
      status: 'Outcome of the request: Success or Failure.',
      message: 'Human-readable description of the outcome.',
      reason: 'Machine-readable reason for a failure, in CamelCase.',
      details: 'Further data for the reason, such as the object and the invalid fields.',
      code: 'Suggested HTTP status code.',
    },
  },
  'meta/v1.StatusDetails': {
    is: 'Further data on the outcome of a request.',
    members: {
      name: 'Name of the object that the outcome concerns.',
      group: 'API group of the object.',
      kind: 'Kind of the object, or its resource if the kind is unknown.',
      uid: 'UID of the object, if the outcome concerns one particular object.',
      causes: 'Individual errors, such as one for each invalid field.',
      retryAfterSeconds: 'Seconds to wait before retrying the request.',
    },
  },
  'meta/v1.StatusCause': {
    is: 'One of the errors behind a failure.',
    members: {
      reason: 'Machine-readable type of the error, in CamelCase.',
      message: 'Human-readable description of the error.',
      field: 'Path of the invalid field in the request, such as spec.containers[0].image.',
    },
  },
  'meta/v1.DeleteOptions': {
    is: 'Options of a deletion.',
    members: {
      gracePeriodSeconds:
        'Seconds before the object is removed; 0 removes it immediately. If absent, the grace period of the object or its kind applies.',
      preconditions: 'Conditions on the current object. If they do not hold, the server responds with 409.',
      orphanDependents: 'Deprecated, use propagationPolicy. Cannot be combined with it.',
      propagationPolicy:
        'Handling of dependents. Orphan: retain them. Background: remove the object, then its dependents. Foreground: remove the dependents first. If absent, the finalizers of the object and its kind decide.',
      dryRun:
        'Stages to simulate. All, the only valid value, processes the request completely without persisting the result. If absent, the deletion is persisted.',
    },
  },
  'meta/v1.Preconditions': {
    is: 'Conditions that the current object must meet before it is changed.',
    members: {
      uid: 'UID that the object must have.',
      resourceVersion: 'Resource version that the object must have.',
    },
  },
  'meta/v1.ManagedFieldsEntry': {
    is: 'Set of fields that one manager owns through one operation and version.',
    members: {
      manager: 'Name of the manager.',
      operation: 'Operation that set the fields: Apply or Update.',
      apiVersion: 'API version of the field paths.',
      time: "Time of the manager's last change to its fields.",
      fieldsType: 'Format of the field set. The only valid value is FieldsV1.',
      fieldsV1: 'Field set in the format FieldsV1.',
      subresource: 'Subresource of the operation. Empty for the object itself.',
    },
  },
  'meta/v1.FieldsV1': {
    is: 'Set of fields as a tree: f: precedes a field, k: the keys of a list item, v: a value, i: an index. A dot stands for the item itself.',
  },
  'meta/v1.Time': { is: 'Time in RFC 3339, with a precision of one second.' },
  'meta/v1.MicroTime': { is: 'Time in RFC 3339, with a precision of one microsecond.' },
  'meta/v1.Duration': { is: 'Duration with units, such as 1h30m or 100ms.' },
  'resource.Quantity': {
    is: 'Decimal number with an optional suffix: decimal (n, u, m, k, M, G, T, P, E), binary (Ki, Mi, Gi, Ti, Pi, Ei) or an exponent, such as 500m, 10Ki or 1e3.',
  },
  'intstr.IntOrString': { is: 'Integer or string, such as 80, http or 25%.' },
  'runtime.RawExtension': { is: 'Object of any kind.' },
};

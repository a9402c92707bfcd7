public import CRDTCore

/// `ALTER SYSTEM SET` and `RESET`; names are in lower case.
public enum AlterSystem: Hashable, Sendable {
  case set(TextKey, Expression)
  case reset(TextKey)
  case resetAll
}

/// `SHOW name` and `SHOW ALL`; names are in lower case.
public enum Show: Hashable, Sendable {
  case parameter(TextKey)
  case all(like: TextKey?, caseInsensitive: Bool)
}

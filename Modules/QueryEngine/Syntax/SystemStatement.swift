/// `ALTER SYSTEM SET` and `RESET`; names are in lower case.
public enum AlterSystem: Hashable, Sendable {
  case set(String, Expression)
  case reset(String)
  case resetAll
}

/// `SHOW name` and `SHOW ALL`; names are in lower case.
public enum Show: Hashable, Sendable {
  case parameter(String)
  case all(like: String?, caseInsensitive: Bool)
}

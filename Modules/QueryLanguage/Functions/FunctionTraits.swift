/// How a function differs from most functions.
struct FunctionTraits: OptionSet, Sendable {
  let rawValue: UInt8

  /// Equal arguments may give different results: by time, by chance, or by the settings of a machine.
  static let dependsOnMachine = Self(rawValue: 1 << 0)
  /// NULL is an ordinary argument; in other functions it makes the result NULL.
  static let takesNull = Self(rawValue: 1 << 1)
  /// Decimals are ordinary arguments; other functions receive a decimal as its text.
  static let takesDecimals = Self(rawValue: 1 << 2)
  /// The result may be a decimal whatever the arguments are, and decimals have no form in place.
  static let makesDecimals = Self(rawValue: 1 << 3)
  /// The name is that of an operator: DQL has no call of it.
  static let isOperator = Self(rawValue: 1 << 4)
}

public import CRDTCore
import Synchronization

/// The settings that ALTER SYSTEM changes: typed, validated, and kept in memory.
///
/// A keeper may also store them. Names do not depend on case; they are returned in lower case.
public final class SystemParameters: Sendable {
  /// Throws to refuse a value, which then changes nothing.
  public typealias Validation = @Sendable (Value) throws -> Void
  /// Is called with a new value, before the statement that set it returns.
  public typealias ChangeHandler = @Sendable (Value) -> Void

  /// Stores values beyond this run.
  ///
  /// It is called, before the change takes effect, with all values that will differ from their defaults. If
  /// it throws, the change is refused.
  public typealias Keeper = @Sendable (_ changed: [TextKey: Value]) throws -> Void

  private struct Parameter {
    var defaultValue: Value
    var value: Value
    var validate: Validation
    var handlers: [ChangeHandler]
  }

  private let parameters: Mutex<[TextKey: Parameter]>
  /// This lock is held from validation to the last handler, so that handlers see changes in the order in
  /// which they took effect; a handler must therefore not change a parameter.
  private let changing = Mutex<Void>(())
  private let keeper = Mutex<Keeper?>(nil)

  /// Makes a registry with the parameters of this layer at their defaults.
  public init() {
    var known: [TextKey: Parameter] = [:]
    for builtIn in BuiltInParameter.allCases {
      known[builtIn.rawValue] = Parameter(
        defaultValue: builtIn.defaultValue, value: builtIn.defaultValue,
        validate: { try builtIn.validate($0) }, handlers: [])
    }
    parameters = Mutex(known)
  }

  /// Adds a parameter at its default; one of the same name is replaced.
  ///
  /// - Parameters:
  ///   - name: Its name, in any case.
  ///   - defaultValue: Its value until it is set, and after a reset.
  ///   - validate: Throws to refuse a value.
  ///   - onChange: Is called with each new value; it must not change a parameter itself.
  public func register(
    _ name: String, default defaultValue: Value, validate: @escaping Validation,
    onChange: @escaping ChangeHandler = { _ in }
  ) {
    parameters.withLock {
      $0[name.lowercased()] = Parameter(
        defaultValue: defaultValue, value: defaultValue, validate: validate, handlers: [onChange])
    }
  }

  /// Gives a parameter of this layer another default, which becomes its value, and a handler of changes.
  func adopt(_ parameter: BuiltInParameter, default value: Value, onChange handler: @escaping ChangeHandler) {
    parameters.withLock { parameters in
      parameters[parameter.rawValue]?.defaultValue = value
      parameters[parameter.rawValue]?.value = value
      parameters[parameter.rawValue]?.handlers.append(handler)
    }
  }

  /// Gives parameters of this layer other defaults; those at their former defaults follow.
  ///
  /// A value that was set, and is not the former default, stays.
  /// - Throws: `argument` for a value of the wrong type or out of range, and what the keeper throws; then
  ///   nothing has changed.
  func redefine(_ defaults: [(parameter: BuiltInParameter, value: Value)]) throws {
    try changing.withLock { _ in
      for (parameter, value) in defaults { try parameter.validate(value) }
      let former = parameters.withLock { $0 }
      var next = former
      for (parameter, value) in defaults {
        if let known = former[parameter.rawValue], known.value == known.defaultValue {
          next[parameter.rawValue]?.value = value
        }
        next[parameter.rawValue]?.defaultValue = value
      }
      let changed = Self.changedValues(of: next)
      if changed != Self.changedValues(of: former) { try keeper.withLock { $0 }?(changed) }
      parameters.withLock { [next] parameters in
        for (parameter, _) in defaults { parameters[parameter.rawValue] = next[parameter.rawValue] }
      }
      for (parameter, value) in defaults where next[parameter.rawValue]?.value == value {
        for handler in next[parameter.rawValue]?.handlers ?? [] { handler(value) }
      }
    }
  }

  /// Adds a handler to a parameter of this layer and calls it with the present value.
  func follow(_ parameter: BuiltInParameter, _ handler: @escaping ChangeHandler) {
    let value = parameters.withLock { parameters in
      parameters[parameter.rawValue]?.handlers.append(handler)
      return parameters[parameter.rawValue]?.value
    }
    handler(value ?? parameter.defaultValue)
  }

  /// Adds a handler to a known parameter and calls it with the present value.
  ///
  /// - Throws: `unknownParameter`.
  public func observe(_ name: String, _ handler: @escaping ChangeHandler) throws(QueryError) {
    let key = name.lowercased()
    let value = try value(of: key)
    parameters.withLock { $0[key]?.handlers.append(handler) }
    handler(value)
  }

  /// The present value of a parameter.
  ///
  /// - Throws: `unknownParameter`, with the nearest known name.
  public func value(of name: String) throws(QueryError) -> Value { try parameter(name).value }

  /// All parameters by their names in lower case.
  public var values: [TextKey: Value] { parameters.withLock { $0.mapValues(\.value) } }

  /// The parameters that are not at their defaults.
  public var changedValues: [TextKey: Value] { parameters.withLock { Self.changedValues(of: $0) } }

  private static func changedValues(of parameters: [TextKey: Parameter]) -> [TextKey: Value] {
    parameters.filter { $1.value != $1.defaultValue }.mapValues(\.value)
  }

  /// Calls a keeper with all later changes, to store them.
  public func keep(by keeper: @escaping Keeper) { self.keeper.withLock { $0 = keeper } }

  /// Sets a parameter; a map is replaced as a whole.
  ///
  /// - Throws: `unknownParameter`, `argument` for a value of the wrong type or out of range, and what a
  ///   registered validation throws; then nothing has changed.
  public func set(_ name: String, to value: Value) throws {
    try changing.withLock { _ in try apply(name, value) }
  }

  /// Resets a parameter to its default.
  ///
  /// - Throws: `unknownParameter`.
  public func reset(_ name: String) throws {
    try changing.withLock { _ in try apply(name, parameter(name).defaultValue) }
  }

  /// Resets every parameter to its default.
  public func resetAll() throws {
    try changing.withLock { _ in
      let changed = parameters.withLock {
        $0.filter { $1.value != $1.defaultValue }.mapValues(\.defaultValue)
      }
      for (name, value) in changed.sorted(by: { $0.key < $1.key }) { try apply(name.text, value) }
    }
  }

  private func apply(_ name: String, _ value: Value) throws {
    let parameter = try parameter(name)
    try parameter.validate(value)
    if let keeper = keeper.withLock({ $0 }) {
      var changed = changedValues
      changed[name.lowercased()] = value == parameter.defaultValue ? nil : value
      try keeper(changed)
    }
    let handlers = parameters.withLock { parameters in
      parameters[name.lowercased()]?.value = value
      return parameters[name.lowercased()]?.handlers ?? []
    }
    for handler in handlers { handler(value) }
  }

  private func parameter(_ name: String) throws(QueryError) -> Parameter {
    let key = name.lowercased()
    let (found, names) = parameters.withLock { ($0[key], Array($0.keys)) }
    guard let found else {
      let hint: String
      var expected: [String] = []
      switch AbsentParameter.substitute(for: key) {
      case .parameter(let parameter):
        expected = [parameter.rawValue]
        hint = ": '\(parameter.rawValue)' does its work"
      case .setting(let sentence): hint = ": " + sentence
      case nil:
        let nearest = NameDistance.nearest(to: key, among: names.map(\.text))
        expected = nearest.map { [$0] } ?? []
        hint = nearest.map { ": did you mean '\($0)'?" } ?? ""
      }
      throw QueryError(
        .unknownParameter, "unknown parameter '\(key.prefix(64))'\(hint)", found: key, expected: expected)
    }
    return found
  }
}

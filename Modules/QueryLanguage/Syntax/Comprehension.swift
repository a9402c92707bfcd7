public import CRDTCore

/// The number of elements that must satisfy a condition.
public enum Quantifier: Hashable, Sendable {
  case any
  /// True for a collection without elements.
  case every
  /// False for a collection without elements.
  case anyAndEvery
}

/// A name that a comprehension binds to an element, or to its position.
public struct Variable: Hashable, Sendable {
  @TextKey public var name: String
  /// The number of variables that are bound around this one, which is its slot in the frame.
  public var slot: Int

  public init(_ name: String, slot: Int) {
    self.name = name
    self.slot = slot
  }
}

/// `[position :] element IN source`, or WITHIN, which also visits nested elements.
public struct Iteration: Hashable, Sendable {
  /// Bound to the element's index in an array, or to its key in an object.
  public var position: Variable?
  public var element: Variable
  /// The array or object to iterate over; it does not see the variables.
  public var source: Expression
  /// WITHIN: also elements of elements.
  public var isDeep: Bool

  public init(position: Variable? = nil, element: Variable, source: Expression, isDeep: Bool = false) {
    self.position = position
    self.element = element
    self.source = source
    self.isDeep = isDeep
  }
}

public import CRDTCore

/// How many elements must satisfy a condition.
public enum Quantifier: Hashable, Sendable {
  case any
  /// Also true of a collection without elements.
  case every
  /// True of no collection without elements.
  case anyAndEvery
}

/// A name that a comprehension binds to an element, or to its place.
public struct Variable: Hashable, Sendable {
  @TextKey public var name: String
  /// How many variables are bound around this one in its expression: its place in the frame of the evaluation.
  public var slot: Int

  public init(_ name: String, slot: Int) {
    self.name = name
    self.slot = slot
  }
}

/// `[position :] element IN source`, or WITHIN, which also goes through what the elements are made of.
public struct Iteration: Hashable, Sendable {
  /// Bound to the element's index in an array, or to its key in an object.
  public var position: Variable?
  public var element: Variable
  /// What is gone through; it does not see the variables.
  public var source: Expression
  /// WITHIN: elements of elements too.
  public var isDeep: Bool

  public init(position: Variable? = nil, element: Variable, source: Expression, isDeep: Bool = false) {
    self.position = position
    self.element = element
    self.source = source
    self.isDeep = isDeep
  }
}

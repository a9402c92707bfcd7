extension Writer {
  /// How long readers may block the growth of the map before the transaction continues in the current one.
  private static let growthDeadline = Duration.milliseconds(50)

  /// Enlarges the map of a store that was opened with a smaller one than requested.
  func grow(_ environment: Environment) {
    // This also covers a failure to create the new map after the old one was given up.
    defer { poison(ifLost: environment) }
    do throws(StoreError) {
      guard try environment.growIfNeeded(deadline: Self.growthDeadline) else { return }
      adoptSize()
      settings.options.write(
        .info, "The store may grow to \(AddressSpace.text(environment.mapBytes)) now")
    } catch {
      settings.options.write(.error, error.message)
    }
  }

  /// Refuses all writes if the map was lost while it was moved.
  func poison(ifLost environment: Environment) {
    if let failure = environment.readers.withLock({ $0.failure }) { poison(by: failure) }
  }
}

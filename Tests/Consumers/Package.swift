// swift-tools-version: 6.2
import PackageDescription

/// A package outside the library's own, whose targets each depend on one product and import one module.
func consumer(of product: String) -> Target {
  .executableTarget(
    name: "Only\(product)", dependencies: [.product(name: product, package: "dunlin")],
    path: "Only\(product)"
  )
}

let package = Package(
  name: "consumers",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "dunlin", path: "../..", traits: [])],
  targets: [consumer(of: "CRDTCore"), consumer(of: "DocStore"), consumer(of: "DunlinKit")]
)

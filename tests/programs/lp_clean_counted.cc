// Three ways of counting references, all balanced: methods, a smart pointer that adopts, and shared_ptr with weak parents.
// variants: -O0 -O2
// stdout: 2 children of root, 3 images freed
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

static int images_freed;

class Image {
public:
    void retain() { count_++; }
    void release() {
        if (--count_ == 0)
            delete this;
    }

private:
    ~Image() { images_freed++; }
    int count_ = 1;
};

class ImageRef {
public:
    static ImageRef adopt(Image *image) { return ImageRef(image); }
    ImageRef(const ImageRef &other) : image_(other.image_) { image_->retain(); }
    ImageRef(ImageRef &&other) noexcept : image_(std::exchange(other.image_, nullptr)) {}
    ImageRef &operator=(ImageRef other) noexcept {
        std::swap(image_, other.image_);
        return *this;
    }
    ~ImageRef() {
        if (image_ != nullptr)
            image_->release();
    }
    Image *get() const { return image_; }

private:
    explicit ImageRef(Image *image) : image_(image) {}
    Image *image_;
};

struct Folder : std::enable_shared_from_this<Folder> {
    explicit Folder(const char *name) : name(name) {}
    std::shared_ptr<Folder> add(const char *child) {
        children.push_back(std::make_shared<Folder>(child));
        children.back()->parent = shared_from_this();
        return children.back();
    }
    const char *name;
    std::weak_ptr<Folder> parent;
    std::vector<std::shared_ptr<Folder>> children;
};

static void use_images() {
    std::vector<ImageRef> album;
    for (int i = 0; i < 3; i++)
        album.push_back(ImageRef::adopt(new Image));
    Image *borrowed = album[1].get();
    borrowed->retain();
    album[0] = album[2];
    std::vector<ImageRef> copy = album;
    album.clear();
    borrowed->release();
}

int main() {
    auto root = std::make_shared<Folder>("root");
    auto leaf = root->add("etc")->add("init");
    root->add("usr");
    auto top = leaf->parent.lock()->parent.lock();
    use_images();
    std::printf("%zu children of %s, %d images freed\n", top->children.size(), top->name, images_freed);
    return 0;
}
